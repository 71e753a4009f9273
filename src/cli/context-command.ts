import { formatCount } from '../base/format.ts'
import type { ContextReply } from '../protocol/api.ts'
import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'
import { findSession } from './find-session.ts'

const barWidth = 30

export const context: CommandHandler<{ session: string }> = async (command, input) => {
  const { output } = command
  const reply = await withFamiliar(command, async (client) =>
    client.context((await findSession(client, input.session)).id),
  )
  if (input.json) {
    output.printJson(reply)
    return undefined
  }
  const { rows, summary } = drawContext(reply)
  output.printTable(rows, { header: ['Block', 'Tier', 'Tokens', '', 'Share'] })
  output.print()
  for (const line of summary) output.print(line)
  return undefined
}

/** Per block its share of all blocks as a bar: full where the provider has it cached, light where it is read anew. */
export function drawContext(reply: ContextReply): { rows: string[][]; summary: string[] } {
  const total = reply.blocks.reduce((sum, block) => sum + block.tokens, 0)
  const share = (tokens: number) => (total === 0 ? 0 : tokens / total)
  const rows = reply.blocks.map(({ name, tier, tokens, cached }) => [
    name,
    tier,
    formatCount(tokens),
    cached ? 'cached' : 'fresh',
    `${(cached ? '█' : '░').repeat(Math.max(tokens > 0 ? 1 : 0, Math.round(share(tokens) * barWidth)))} ${Math.round(share(tokens) * 100)}%`,
  ])
  const { last_request_tokens: last, threshold_tokens: threshold } = reply
  const summary = [
    `${formatCount(total)} tokens (${reply.tokenizer}), of which ${formatCount(
      reply.blocks.filter((block) => block.cached).reduce((sum, block) => sum + block.tokens, 0),
    )} cached.`,
    last === null
      ? 'No request was sent yet.'
      : `The last request had ${formatCount(last)} tokens by the provider's count.`,
    `The oldest part is summarised at ${formatCount(threshold)} tokens.`,
  ]
  return { rows, summary }
}
