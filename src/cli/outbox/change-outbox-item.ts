import type { CommandHandler } from '../command.ts'
import { withOutbox } from './outbox-client.ts'

/** `familiar outbox retry ITEM`. */
export const retryOutboxItem: CommandHandler<{ item: string }> = async (context, input) => {
  const { output } = context
  const item = await withOutbox(context, (outbox) => outbox.retry(input.item))
  if (input.json) output.printJson(item)
  else output.print('It is tried again, now or as soon as Familiar runs.')
  return undefined
}

/** `familiar outbox cancel ITEM`. */
export const cancelOutboxItem: CommandHandler<{ item: string }> = async (context, input) => {
  const { output } = context
  const item = await withOutbox(context, (outbox) => outbox.cancel(input.item))
  if (input.json) output.printJson(item)
  else output.print('Cancelled. It is not sent.')
  return undefined
}
