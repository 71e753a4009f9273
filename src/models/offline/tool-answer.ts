import type { ToolResult } from '../../protocol/message.ts'
import type { CallIntent } from './ability.ts'
import { texts } from './texts.ts'
import { withoutWrapping } from './without-wrapping.ts'

/** What to say of an intent whose call was made; a missing result is a call whose outcome nobody knows. */
export function answerOf(intent: CallIntent, result: ToolResult | undefined): string {
  if (!result || isUnknown(result)) return texts.outcomeUnknown(intent.purpose)
  if (result.isError) return texts.toolFailed(intent.purpose, withoutWrapping(result) || 'no reason was given.')
  return intent.answer(result)
}

function isUnknown(result: ToolResult): boolean {
  return result.isError && result.text.toLowerCase().includes('outcome unknown')
}
