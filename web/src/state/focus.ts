/** The focus, where a page is on its way. */

const LONGEST_MS = 10_000;

/** Focus an element as soon as the next page has it. */
export function focusSoon(id: string): void {
  const end = performance.now() + LONGEST_MS;
  const look = () => {
    const found = document.getElementById(id);
    if (found) found.focus();
    else if (performance.now() < end) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
