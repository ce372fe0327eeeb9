import {
  Activity,
  BookOpen,
  ChartColumn,
  Check,
  ChevronDown,
  ChevronLeft,
  ChevronRight,
  ChevronUp,
  CircleAlert,
  CircleSlash,
  Columns3,
  Copy,
  CornerDownRight,
  Download,
  Ellipsis,
  FileText,
  Filter,
  History,
  type IconNode,
  Info,
  Keyboard,
  KeyRound,
  Languages,
  Layers,
  Library,
  ListTree,
  Maximize,
  MessageCircleQuestionMark,
  Minus,
  Moon,
  Network,
  Pencil,
  Play,
  Plus,
  Quote,
  RotateCw,
  Route,
  Search,
  Send,
  Settings,
  Square,
  Sun,
  Table2,
  Tag,
  Trash2,
  TriangleAlert,
  Underline,
  Upload,
  X,
} from "lucide";
import { h } from "preact";

const ICONS = {
  activity: Activity,
  ask: MessageCircleQuestionMark,
  bad: CircleAlert,
  check: Check,
  close: X,
  columns: Columns3,
  communities: Layers,
  copy: Copy,
  delete: Trash2,
  documents: FileText,
  down: ChevronDown,
  edit: Pencil,
  download: Download,
  evaluation: ChartColumn,
  filter: Filter,
  fit: Maximize,
  further: CornerDownRight,
  graph: Network,
  history: History,
  info: Info,
  key: KeyRound,
  keyboard: Keyboard,
  language: Languages,
  left: ChevronLeft,
  library: Library,
  light: Sun,
  minus: Minus,
  dark: Moon,
  more: Ellipsis,
  none: CircleSlash,
  play: Play,
  plus: Plus,
  quote: Quote,
  read: BookOpen,
  refresh: RotateCw,
  right: ChevronRight,
  route: Route,
  search: Search,
  send: Send,
  settings: Settings,
  stop: Square,
  table: Table2,
  tag: Tag,
  tree: ListTree,
  underline: Underline,
  up: ChevronUp,
  upload: Upload,
  warning: TriangleAlert,
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
