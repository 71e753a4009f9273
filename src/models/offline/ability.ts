import type { Json } from '../../protocol/json.ts'
import type { ToolResult } from '../../protocol/message.ts'
import type { Before } from './read-turn.ts'
import type { Sentence } from './sentence.ts'

/** What a sentence asks for: something to say at once, or a tool to call and what to say of its result. */
export type Intent = SayIntent | CallIntent

interface SayIntent {
  type: 'say'
  /** `courtesy` is left out beside anything else; `unknown` sentences are answered together. */
  kind: 'answer' | 'courtesy' | 'unknown'
  text: string
}

export interface CallIntent {
  type: 'call'
  tool: string
  input: { [key: string]: Json }
  /** Ends the words "I could not …". */
  purpose: string
  /** Only for results that are no errors. Words, never empty; or what to do next with what was found. */
  answer(result: ToolResult): string | Intent
  /** A further tool that it is begun for: without that one it is not begun. */
  leadsTo?: string
  /** In its place where a tool that it needs is not there. */
  otherwise?: Intent
  /** In its place where the tool refused. */
  ifRefused?: Intent
  /** The same intent with a further sentence of the user, where one that asks for nothing may belong to it. */
  extend?(sentence: Sentence): Intent
}

/** One thing that can be done without a language model, recognised by the form of a sentence and what came before it. */
export interface Ability {
  name: string
  matches(sentence: Sentence, before: Before): Intent | undefined
}

export function say(text: string): Intent {
  return { type: 'say', kind: 'answer', text }
}
