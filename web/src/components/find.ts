/** Documents and entities by their names, as options of a field. */

import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n";
import { call } from "../state/calls";
import type { Option } from "./Combobox";
import { sayType } from "./graph/types";

interface Found extends Option {
  detail?: string;
}

type Find = (name: string, signal: AbortSignal) => Promise<Found[]>;

const MOST = 12;

export const findDocuments: Find = async (name, signal) => {
  const query = { name, limit: MOST, state: "ready" as const };
  const { documents } = await call("get", "/documents", { query, signal });
  return documents.map(({ id, title, uri }) => ({ id, label: title || uri, note: "" }));
};

export const findEntities: Find = async (name, signal) => {
  const { entities } = await call("get", "/entities", { query: { name, limit: MOST }, signal });
  return entities.map(({ id, name: label, type, chunks }) => {
    const detail = t("{n} {n:passage|passages}", { n: chunks });
    return { id, label, note: sayType(type), detail };
  });
};

const PAUSE_MS = 150;

/** Return what was typed last, once nobody has typed for a moment. */
export function usePaused(typed: string, pauseMs = PAUSE_MS): string {
  const [paused, setPaused] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(typed), pauseMs);
    return () => clearTimeout(timer);
  }, [typed, pauseMs]);
  return paused;
}
