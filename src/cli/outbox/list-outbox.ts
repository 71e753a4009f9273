import { formatTime, oneLine } from '../../base/format.ts'
import type { OutboxItemReply, OutboxReply } from '../../protocol/outbox-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withOutbox } from './outbox-client.ts'

/** `familiar outbox list`: newest first. */
export const listOutbox: CommandHandler<{ state?: string; channel?: string; limit: string }> = async (
  context,
  input,
) => {
  const { output } = context
  const { state, channel, limit } = input
  const reply = await withOutbox(context, (outbox) => outbox.list({ state, channel, limit }))
  if (input.json) output.printJson(reply)
  else printOutbox(output, reply)
  return undefined
}

function printOutbox(output: Output, { items, counts }: OutboxReply): void {
  if (items.length === 0) output.print('There is nothing of that in the outbox.')
  else {
    output.printTable(
      items.map((item) => [
        item.id,
        formatTime(item.created_at),
        `${item.channel} ${item.address}`,
        outboxStateOf(output, item),
        oneLine(item.error ?? item.preview, 100),
      ]),
      { header: ['Item', 'When', 'To', 'State', 'What'] },
    )
  }
  const parts = Object.entries(counts).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []))
  if (parts.length > 0) output.note(`In all: ${parts.join(', ')}.`)
}

export function outboxStateOf(output: Output, { state }: Pick<OutboxItemReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'unknown' ? output.style('yellow', state) : state
}
