import type { IconNode } from "lucide";
import * as drawings from "lucide";
import { h } from "preact";

export const ICONS = {
  activity: drawings.Activity,
  ask: drawings.MessageCircleQuestionMark,
  bad: drawings.CircleAlert,
  check: drawings.Check,
  close: drawings.X,
  communities: drawings.Layers,
  copy: drawings.Copy,
  delete: drawings.Trash2,
  documents: drawings.FileText,
  down: drawings.ChevronDown,
  edit: drawings.Pencil,
  download: drawings.Download,
  evaluation: drawings.ChartColumn,
  filter: drawings.Filter,
  fit: drawings.Maximize,
  further: drawings.CornerDownRight,
  graph: drawings.Network,
  history: drawings.History,
  info: drawings.Info,
  key: drawings.KeyRound,
  keyboard: drawings.Keyboard,
  language: drawings.Languages,
  left: drawings.ChevronLeft,
  library: drawings.Library,
  light: drawings.Sun,
  minus: drawings.Minus,
  dark: drawings.Moon,
  more: drawings.Ellipsis,
  none: drawings.CircleSlash,
  play: drawings.Play,
  plus: drawings.Plus,
  refresh: drawings.RotateCw,
  right: drawings.ChevronRight,
  route: drawings.Route,
  search: drawings.Search,
  send: drawings.Send,
  settings: drawings.Settings,
  stop: drawings.Square,
  tag: drawings.Tag,
  underline: drawings.Underline,
  up: drawings.ChevronUp,
  upload: drawings.Upload,
  warning: drawings.TriangleAlert,
} satisfies Record<string, IconNode>;

export type IconName = keyof typeof ICONS;

/** A small drawing beside words; it says nothing by itself. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return <Drawn parts={ICONS[name]} size={size} />;
}

/** The same for a drawing that few pages need. */
export function Drawn({ parts, size }: { parts: IconNode; size: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {parts.map(([tag, attributes], index) => h(tag, { ...attributes, key: index }))}
    </svg>
  );
}
