import { en, type Strings } from './en.ts'

/**
 * The strings of the page's language. A second language is imported here with `await import()`: every module that imports `t`
 * waits for it, so constants that hold strings are right as well.
 */
export const t: Strings = en
