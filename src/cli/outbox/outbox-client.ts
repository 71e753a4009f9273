import * as api from '../../protocol/outbox-api.ts'
import type { ApiTransport } from '../api-transport.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { withFamiliar } from '../connect.ts'

/** What can be asked of the outbox over HTTP, typed. One is named by its id or the beginning of it. */
interface OutboxClient {
  list(query: { state?: string | undefined; channel?: string | undefined; limit?: string }): Promise<api.OutboxReply>
  show(named: string): Promise<api.ShownOutboxItemReply>
  retry(named: string): Promise<api.OutboxItemReply>
  cancel(named: string): Promise<api.OutboxItemReply>
}

export function withOutbox<T>(context: CommandContext, work: (outbox: OutboxClient) => Promise<T>): Promise<T> {
  return withFamiliar(context, ({ transport }) => work(createClient(transport)))
}

function createClient({ ask }: ApiTransport): OutboxClient {
  const one = (id: string, rest = '') => `/outbox/${encodeURIComponent(id)}${rest}`

  async function list(query: Record<string, string | undefined>): Promise<api.OutboxReply> {
    const given = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, value)
    return ask(`/outbox?${given}`, api.outboxReplySchema)
  }

  async function idOf(named: string): Promise<string> {
    const { items } = await list({ limit: '500' })
    if (items.some(({ id }) => id === named)) return named
    const [first, ...more] = items.filter(({ id }) => id.startsWith(named))
    if (more.length === 0) return first?.id ?? named
    throw new CommandError(`Several begin with ${JSON.stringify(named)}.`, {
      code: 'bad_request',
      hint: 'Give the whole id: familiar outbox list',
    })
  }

  return {
    list,
    show: async (named) => ask(one(await idOf(named)), api.shownOutboxItemReplySchema),
    retry: async (named) => ask(one(await idOf(named), '/retry'), api.outboxItemReplySchema, { body: {} }),
    cancel: async (named) => ask(one(await idOf(named), '/cancel'), api.outboxItemReplySchema, { body: {} }),
  }
}
