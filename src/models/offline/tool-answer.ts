import type { ToolResult } from '../../protocol/message.ts'
import type { CallIntent, Intent } from './ability.ts'
import { texts } from './texts.ts'
import { withoutWrapping } from './without-wrapping.ts'

/** What follows from a call that was made: words, or another intent. A missing result is one whose outcome nobody knows. */
export function answerOf(intent: CallIntent, result: ToolResult | undefined): string | Intent {
  if (!result || isUnknown(result)) return texts.outcomeUnknown(intent.purpose)
  if (!result.isError) return intent.answer(result)
  const reason = withoutWrapping(result)
  const instead = reason.startsWith('There is no tool named') ? intent.otherwise : intent.ifRefused
  return instead ?? texts.toolFailed(intent.purpose, reason || 'no reason was given.')
}

function isUnknown(result: ToolResult): boolean {
  return result.isError && result.text.toLowerCase().includes('outcome unknown')
}
