import type { Json } from '../../protocol/json.ts'
import type { ToolResult } from '../../protocol/message.ts'
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
  /** Only for results that are no errors. Never empty. */
  answer(result: ToolResult): string
  /** The same intent with a further sentence of the user, where one that asks for nothing may belong to it. */
  extend?(sentence: Sentence): Intent
}

/** One thing that can be done without a language model, recognised by the form of a sentence alone. */
export interface Ability {
  name: string
  matches(sentence: Sentence): Intent | undefined
}
