/** The focus, where a page is on its way. */

const LONGEST_MS = 10_000;

/** Focus an element as soon as the next page has it, unless another one has got the focus. */
export function focusSoon(id: string): void {
  const end = performance.now() + LONGEST_MS;
  const before = document.activeElement;
  const look = () => {
    const found = document.getElementById(id);
    const now = document.activeElement;
    if (now !== before && now !== document.body) return;
    if (found) found.focus();
    else if (performance.now() < end) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
