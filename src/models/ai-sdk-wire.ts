import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Json } from '../protocol/json.ts'
import type { ThinkingPart } from '../protocol/message.ts'
import type { StrictForm } from './strict-schema.ts'

/** What is particular to one provider behind the AI SDK's model specification. */
export interface AiSdkWire {
  /** The name under which this SDK reads and writes what is its own on a message, a part or a call. */
  optionsKey: string
  /** Loads the SDK. Called once, on the first use of the model. */
  load(): Promise<LanguageModelV4>
  /** Options of one call. `thinkingInterrupted`: the turn under way began without this provider's thinking. */
  callOptions(call: { thinkingInterrupted: boolean }): { [key: string]: Json }
  /** What marks a message as the end of a prefix to cache; undefined where the provider finds prefixes itself. */
  cacheBoundary: SharedV4ProviderOptions | undefined
  strictForm: StrictForm
  readsPdf: boolean
  /** Whether the provider would recognise this thinking of its own. */
  canReplay(part: ThinkingPart): boolean
}
