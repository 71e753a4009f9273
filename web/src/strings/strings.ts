import type { Strings } from './en.ts'

/** The strings of the page's language. The entry sets them before it loads the modules that use them (`main.tsx`). */
export let t = undefined as unknown as Strings

export function setStrings(strings: Strings): void {
  t = strings
}
