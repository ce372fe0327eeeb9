import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { Button, IconButton } from "../../components/Button";
import { Combobox } from "../../components/Combobox";
import { AskingButton, Dialog } from "../../components/Dialog";
import { Empty } from "../../components/Empty";
import { ErrorState } from "../../components/ErrorState";
import { Check, Choice, SearchField, Tabs, TextField } from "../../components/Fields";
import { SmallGraph } from "../../components/graph/SmallGraph";
import { ICONS, Icon, type IconName } from "../../components/Icon";
import { Menu, MenuList } from "../../components/Menu";
import { PageHead } from "../../components/PageHead";
import { Progress, Skeleton } from "../../components/Progress";
import { TextCode, TextTable } from "../../components/prose";
import { Card, More, Section } from "../../components/Section";
import { Field, optionsOf, Select } from "../../components/Select";
import { SourceCard } from "../../components/SourceCard";
import { Table } from "../../components/Table";
import { announce } from "../../state/announcements";
import "../../components/reader/reader.css";

const KINDS = ["plain", "main", "quiet", "danger", "link"] as const;
const TONES = ["", "good", "warn", "bad", "accent"];
const STATES = ["queued", "running", "finished", "failed"];
const FRUITS = ["Apple", "Pear", "Plum"] as const;
const ROWS = [
  { name: "Apple", weight: 150 },
  { name: "Pear", weight: 178 },
];
const GRAPH = [
  { id: "a", label: "Apple", kind: "name", isStart: true },
  { id: "b", label: "Pear", kind: "thing" },
] as const;

/** Every shared component in its states, for those who work on them: `/ui/?components=1`. */
export default function ComponentsPage() {
  const [text, setText] = useState("");
  const [fruit, setFruit] = useState<(typeof FRUITS)[number]>("Apple");
  const [isOn, setOn] = useState(true);
  const [view, setView] = useState("Map");
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <PageHead title="Components" actions={<Button label="Action" kind="main" />}>
        Every shared component in its states.
      </PageHead>
      <div class="stack loose">
        <Part title="Buttons">
          {KINDS.map((kind) => (
            <Button key={kind} kind={kind} label={kind} />
          ))}
          <Button label="With an icon" icon="plus" />
          <Button label="Busy" busy />
          <Button label="Disabled" disabled />
          <Button label="Pressed" pressed />
          <IconButton icon="copy" label="Icon" onClick={() => announce("Copied.")} />
          <IconButton icon="close" label="Icon, disabled" disabled />
          <Button label="Fails" onClick={() => Promise.reject(new Error("It failed."))} />
        </Part>
        <Part title="Icons">
          {(Object.keys(ICONS) as IconName[]).map((name) => (
            <span key={name} class="row small muted">
              <Icon name={name} /> {name}
            </span>
          ))}
        </Part>
        <Part title="Tags and states">
          {TONES.map((tone) => (
            <span key={tone} class={`tag ${tone}`}>
              tag {tone}
            </span>
          ))}
          {STATES.map((state) => (
            <span key={state} class={`state ${state}`}>
              {state}
            </span>
          ))}
          <kbd>Ctrl K</kbd>
        </Part>
        <Part title="Fields">
          <TextField label="Text" value={text} placeholder="A line" onInput={setText} />
          <SearchField label="Search" text={text} onText={setText} />
          <Field label="Several lines">
            <textarea rows={2} />
          </Field>
          <Check label="Box" isOn={isOn} onChange={setOn} />
          <Check label="Switch" isSwitch isOn={isOn} onChange={setOn} />
          <Select label="List" value={fruit} onChoose={setFruit}>
            {optionsOf(FRUITS, (name) => name)}
          </Select>
          <Choice
            legend="Choice"
            options={FRUITS}
            say={(name) => name}
            chosen={fruit}
            onChange={setFruit}
          />
          <Tabs
            label="Views"
            options={["Map", "Rows"]}
            say={(name) => name}
            chosen={view}
            onChoose={setView}
          />
        </Part>
        <Part title="Menus and dialogs">
          <Menu
            label="Menu"
            icon="more"
            content={(done) => (
              <MenuList
                close={done}
                items={FRUITS.map((label) => ({ label, run: () => setFruit(label) }))}
              />
            )}
          />
          <Button label="Dialog" onClick={() => setOpen(true)} />
          <AskingButton
            label="Confirm"
            title="Remove it?"
            action="Remove"
            onConfirm={async () => undefined}
          >
            <p>This cannot be undone.</p>
          </AskingButton>
          <div class="grow">
            <Combobox
              label="Combobox"
              text={text}
              onText={setText}
              options={FRUITS.map((label) => ({ id: label, label, note: "fruit", icon: "tag" }))}
              onChoose={(index) => setText(FRUITS[index] ?? "")}
            />
          </div>
        </Part>
        <Part title="Waiting, nothing, faults" class="stack">
          <Skeleton />
          <Progress done={3} total={10} label="Known" />
          <Progress done={0} total={0} label="Not known" />
          <Empty icon="search" title="Nothing" actions={<Button label="Add" kind="main" />}>
            What there would be.
          </Empty>
          <ErrorState
            error={new ApiError("conflict", "It is there already.", "Rename it.", 409, "R1")}
            retry={() => undefined}
          />
        </Part>
        <Part title="Tables and texts" class="stack">
          <Table
            label="Fruits"
            items={ROWS}
            keyOf={({ name }) => name}
            isChosen={({ name }) => name === fruit}
            columns={[
              { head: "Name", cell: ({ name }) => name },
              { head: "Weight", cell: ({ weight }) => weight, class: "number" },
            ]}
          />
          <div class="prose">
            <TextTable
              header={["Name"]}
              rows={FRUITS.map((name) => [name])}
              cell={(name) => name}
            />
            <TextCode>print("Pear")</TextCode>
          </div>
          <Section title="Section" note="2">
            <p class="muted">Below its title.</p>
            <More of={[2, 9]} onMore={() => undefined} />
          </Section>
          <SourceCard
            number={1}
            of={{
              title: "Fruits",
              document: "",
              section: "Trees > Pears",
              page: "4",
              span: [0, 9],
            }}
            text="Pears ripen off the tree. They are picked in autumn."
            marks={[[0, 25]]}
            href="/ui/?components=1"
            isActive
          />
          <SmallGraph
            nodes={GRAPH}
            edges={[{ id: "1", source: "a", target: "b", label: "is grafted on" }]}
            ariaLabel="Small graph"
            onNode={() => undefined}
          />
        </Part>
      </div>
      {isOpen && (
        <Dialog title="Dialog" onClose={() => setOpen(false)}>
          <p>Its content.</p>
        </Dialog>
      )}
    </>
  );
}

interface PartProps {
  title: string;
  class?: string;
  children: ComponentChildren;
}

function Part({ title, class: order = "row wrap", children }: PartProps) {
  return (
    <Card class="stack" title={title}>
      <div class={order}>{children}</div>
    </Card>
  );
}
