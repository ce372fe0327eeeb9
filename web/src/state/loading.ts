/** Things that a component loads: what came, what went wrong, and asking again. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { asError, isAborted, isWaiting } from "../api/client";
import { renewal } from "./connection";

export interface Loaded<T> {
  data: T | null;
  error: Error | null;
  /** Whether something is on its way; `data` may be that of before. */
  isLoading: boolean;
  reload: () => void;
}

/** Load something whenever `wanted` changes; an empty `wanted` loads nothing.
 *
 * What came for another `wanted` is kept until the new arrives only with `keepsOld`. Without a
 * server or a key, what came is kept, and loaded again as soon as they are there.
 */
export function useLoaded<T>(
  wanted: string,
  load: (signal: AbortSignal) => Promise<T>,
  { keepsOld = false } = {},
): Loaded<T> {
  const [state, setState] = useState<{ wanted: string; data: T | null; error: Error | null }>({
    wanted: "",
    data: null,
    error: null,
  });
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const renewals = renewal.value;
  useEffect(() => {
    if (!wanted) return;
    const abort = new AbortController();
    loader.current(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ wanted, data, error: null });
      },
      (error: unknown) => {
        if (abort.signal.aborted || isAborted(error) || isWaiting(error)) return;
        setState((before) => ({
          wanted,
          data: before.wanted === wanted ? before.data : null,
          error: asError(error),
        }));
      },
    );
    return () => abort.abort();
  }, [wanted, turn, renewals]);
  const reload = useCallback(() => {
    setState((before) => ({ ...before, error: null }));
    setTurn((before) => before + 1);
  }, []);
  const isCurrent = state.wanted === wanted;
  return {
    data: isCurrent || keepsOld ? state.data : null,
    error: isCurrent ? state.error : null,
    isLoading: wanted !== "" && (!isCurrent || (state.data === null && state.error === null)),
    reload,
  };
}
