import { formatTime, oneLine } from '../../base/text.ts'
import { type OutboxItemReply, type OutboxReply, outbox } from '../../protocol/channels.ts'
import { CommandError, type CommandHandler } from '../command.ts'
import { type Api, withApi } from '../connect.ts'
import type { Output } from '../output.ts'

/** `familiar outbox show ITEM`. */
export const showOutboxItem: CommandHandler<{ item: string }> = async (context, input) => {
  const { output } = context
  const item = await withApi(context, outbox, async (api) => api.show(await idOf(api, input.item)))
  if (input.json) return output.printJson(item)
  output.printFields([
    ['Id', item.id],
    ['To', `${item.channel} ${item.address}`],
    ['State', outboxStateOf(output, item)],
    ['Attempts', String(item.attempts)],
    ['Next', item.next_at && formatTime(item.next_at)],
    ['Error', item.error],
    ['External id', item.external_id],
    ['Session', item.session_id],
    ['Repeats', item.repeats],
    ['Created', formatTime(item.created_at)],
    ['Changed', formatTime(item.updated_at)],
  ])
  output.print()
  output.print(JSON.stringify(item.payload, null, 2))
  return undefined
}

/** The item with this id or this beginning of an id. */
async function idOf(api: Api<typeof outbox>, named: string): Promise<{ id: string }> {
  const { items } = await api.list({ limit: 500 })
  if (items.some(({ id }) => id === named)) return { id: named }
  const [first, ...more] = items.filter(({ id }) => id.startsWith(named))
  if (more.length === 0) return { id: first?.id ?? named }
  throw new CommandError(`Several messages start with ${JSON.stringify(named)}.`, {
    code: 'bad_request',
    hint: 'Give the whole id: familiar outbox list',
  })
}

/** `familiar outbox retry ITEM`. */
export const retryOutboxItem: CommandHandler<{ item: string }> = async (context, input) => {
  const { output } = context
  const item = await withApi(context, outbox, async (api) => api.retry(await idOf(api, input.item)))
  return output.report(input.json, item, 'Queued again. It is sent now, or when Familiar starts.')
}

/** `familiar outbox cancel ITEM`. */
export const cancelOutboxItem: CommandHandler<{ item: string }> = async (context, input) => {
  const { output } = context
  const item = await withApi(context, outbox, async (api) => api.cancel(await idOf(api, input.item)))
  return output.report(input.json, item, 'Canceled. It will not be sent.')
}

/** `familiar outbox list`: newest first. */
export const listOutbox: CommandHandler<{ state?: OutboxItemReply['state']; channel?: string; limit: number }> = async (
  context,
  input,
) => {
  const { output } = context
  const { state, channel, limit } = input
  const reply = await withApi(context, outbox, (api) => api.list({ state, channel, limit }))
  return output.report(input.json, reply, () => printOutbox(output, reply))
}

function printOutbox(output: Output, { items, counts }: OutboxReply): void {
  if (items.length === 0) output.print('No outgoing messages.')
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
  if (parts.length > 0) output.note(`Total: ${parts.join(', ')}.`)
}

function outboxStateOf(output: Output, { state }: Pick<OutboxItemReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'unknown' ? output.style('yellow', state) : state
}
