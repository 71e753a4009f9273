import { canonicalJson } from '../../base/json.ts'
import { approvedText, deniedText } from '../../policy/approval-texts.ts'
import { readSpokenAnswer } from '../../policy/spoken-answer.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolCallPart } from '../../protocol/message.ts'
import { type CallIntent, type Intent, say } from './ability.ts'
import type { Before } from './read-turn.ts'
import { texts } from './texts.ts'
import { withoutWrapping } from './without-wrapping.ts'

/**
 * The answer to being asked for approval, by words or told by the system: the calls that waited are made again, exactly
 * as they were, or left. Whether they may be made is not decided here.
 */
export function matchesApproval(words: string, { waiting, told }: Before): Intent[] | undefined {
  if (waiting.length === 0) return undefined
  const heard = `${told}\n${words}`
  const answered = (text: typeof approvedText) => waiting.filter((call) => heard.includes(text(asAsked(call))))
  const approved = answered(approvedText)
  if (approved.length > 0) return approved.flatMap(repeat)
  if (answered(deniedText).length > 0) return [say(texts.leftAsIs)]
  // They may have said it too late: then the call asks them anew.
  const spoken = readSpokenAnswer(words)
  if (spoken === 'approve') return waiting.flatMap(repeat)
  return spoken === 'deny' ? [say(texts.leftAsIs)] : undefined
}

function asAsked({ name, input }: ToolCallPart) {
  return { tool: name, arguments: canonicalJson(input) }
}

function repeat({ name, input }: ToolCallPart): CallIntent[] {
  if (!isObject(input)) return []
  const answer: CallIntent['answer'] = (result) => withoutWrapping(result) || texts.done
  return [{ type: 'call', tool: name, input, purpose: 'do that', answer }]
}

function isObject(input: Json): input is { [key: string]: Json } {
  return input !== null && typeof input === 'object' && !Array.isArray(input)
}
