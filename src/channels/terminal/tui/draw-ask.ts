import { wrapTextWithAnsi } from '@earendil-works/pi-tui'
import type { Ask } from './conversation.ts'
import { indent } from './drawing.ts'
import type { Theme } from './theme.ts'

/** What the user is asked, with all that their word would be given for, and the keys that give it. */
export function drawAsk(
  ask: Ask,
  drawing: { width: number; theme: Theme; waiting: number; isArmed: boolean; isAnswering: boolean },
): string[] {
  const { width, theme, waiting, isArmed, isAnswering } = drawing
  const bar = `${theme.warning('▌')} `
  const room = Math.max(1, width - 2)
  const keys =
    ask.kind === 'approval' || ask.kind === 'confirm' ? keysOf(ask.kind, isArmed) : typed(ask.kind, isAnswering)
  const more = waiting > 0 ? ` · ${waiting} more waiting` : ''
  const lines = [...words(ask, theme), theme.dim(`${keys}${more}`)]
  return [
    '',
    ...indent(
      lines.flatMap((line) => wrapTextWithAnsi(line, room)),
      bar,
      bar,
    ),
  ]
}

function words(ask: Ask, theme: Theme): string[] {
  switch (ask.kind) {
    case 'approval': {
      const where = ask.destination === null ? '' : ` to ${theme.warning(ask.destination)}`
      return [`May I call ${theme.bold(ask.tool)}${where}?`, ask.arguments, theme.dim(ask.reason)]
    }
    case 'confirm':
      return [ask.text]
    case 'question':
      return [`The Builder of ${theme.bold(ask.name)} asks:`, ask.text]
    case 'secret':
      return [`The Builder of ${theme.bold(ask.name)} needs the secret ${theme.bold(ask.secret)}:`, ask.text]
    default:
      ask satisfies never
      return []
  }
}

function keysOf(kind: 'approval' | 'confirm', isArmed: boolean): string {
  if (!isArmed) return '…'
  return kind === 'approval' ? 'y allows it, once and exactly so · n does not' : 'y does it · n leaves it as it is'
}

function typed(kind: 'question' | 'secret', isAnswering: boolean): string {
  if (kind === 'secret') return 'Tab, and type it unseen; it goes into the vault · Esc leaves it for later'
  return `${isAnswering ? 'Your next line is' : 'This line is still a message; the next one is'} the answer · Esc leaves it for later`
}
