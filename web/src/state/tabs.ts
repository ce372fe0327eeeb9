/** What the tabs of one browser tell each other, so that they agree. */

type Subject = "key" | "key-wanted" | "workspaces" | "jobs" | "changed";

const listeners = new Map<Subject, (value: string) => void>();
let channel: BroadcastChannel | null = null;

/** Do something whenever another tab tells of a subject. */
export function hear(subject: Subject, listener: (value: string) => void): void {
  listeners.set(subject, listener);
}

/** Tell the other tabs. */
export function tell(subject: Subject, value = ""): void {
  channel?.postMessage([subject, value]);
}

/** Listen to the other tabs. */
export function startTabs(): void {
  channel = new BroadcastChannel("knotwork");
  channel.onmessage = ({ data: [subject, value] }: MessageEvent<[Subject, string]>) =>
    listeners.get(subject)?.(value);
}
