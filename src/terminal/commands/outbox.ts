import { formatTime, oneLine } from '../../base/text.ts'
import { type OutboxItemReply, outbox } from '../../protocol/channels.ts'
import { idStartingWith } from '../command.ts'
import { type Api, apiCommand } from '../connect.ts'
import type { Output } from '../output.ts'

export const showOutboxItem = apiCommand(
  outbox,
  async (api, { item }: { item: string }) => api.show(await idOf(api, item)),
  (item, output) => {
    output.printFields([
      ['Id', item.id],
      ['To', `${item.channel} ${item.address}`],
      ['State', stateOf(output, item)],
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
  },
)

async function idOf(api: Api<typeof outbox>, named: string): Promise<{ id: string }> {
  const { items } = await api.list({ limit: 500 })
  return { id: idStartingWith(items, named, 'messages', 'familiar outbox list') }
}

export const retryOutboxItem = apiCommand(
  outbox,
  async (api, { item }: { item: string }) => api.retry(await idOf(api, item)),
  () => 'Queued again. It is sent now, or when Familiar starts.',
)

export const cancelOutboxItem = apiCommand(
  outbox,
  async (api, { item }: { item: string }) => api.cancel(await idOf(api, item)),
  () => 'Canceled. It will not be sent.',
)

/** The newest message comes first. */
export const listOutbox = apiCommand(
  outbox,
  (api, { state, channel, limit }: { state?: OutboxItemReply['state']; channel?: string; limit: number }) =>
    api.list({ state, channel, limit }),
  ({ items, counts }, output) => {
    const rows = items.map((item) => [
      item.id,
      formatTime(item.created_at),
      `${item.channel} ${item.address}`,
      stateOf(output, item),
      oneLine(item.error ?? item.preview, 100),
    ])
    if (rows.length === 0) output.print('No outgoing messages.')
    else output.printTable(rows, { header: ['Item', 'When', 'To', 'State', 'What'] })
    const parts = Object.entries(counts).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []))
    if (parts.length > 0) output.note(`Total: ${parts.join(', ')}.`)
  },
)

function stateOf(output: Output, { state }: Pick<OutboxItemReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'unknown' ? output.style('yellow', state) : state
}
