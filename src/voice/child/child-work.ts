import type { ChildAnswer, ToChild } from './child-messages.ts'

/** Does one piece of work. `onProgress` is called after every part of it: who is silent for long is taken for dead. */
export type ChildWork = (asked: ToChild, onProgress: () => void) => Promise<ChildAnswer>
