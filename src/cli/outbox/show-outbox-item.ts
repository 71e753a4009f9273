import { formatTime } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { printFields } from '../memory/describe-memory.ts'
import { outboxStateOf } from './list-outbox.ts'
import { withOutbox } from './outbox-client.ts'

/** `familiar outbox show ITEM`. */
export const showOutboxItem: CommandHandler<{ item: string }> = async (context, input) => {
  const { output } = context
  const item = await withOutbox(context, (outbox) => outbox.show(input.item))
  if (input.json) {
    output.printJson(item)
    return undefined
  }
  printFields(output, [
    ['Id', item.id],
    ['To', `${item.channel} ${item.address}`],
    ['State', outboxStateOf(output, item)],
    ['Attempts', String(item.attempts)],
    ['Next', item.next_at && formatTime(item.next_at)],
    ['Error', item.error],
    ['Their id', item.external_id],
    ['Session', item.session_id],
    ['Says again', item.repeats],
    ['Put in', formatTime(item.created_at)],
    ['Changed', formatTime(item.updated_at)],
  ])
  output.print()
  output.print(JSON.stringify(item.payload, null, 2))
  return undefined
}
