import { formatCount, formatUsd, plural } from '../base/format.ts'
import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'

export const cost: CommandHandler<{ period: string }> = async (context, input) => {
  const { output } = context
  const reply = await withFamiliar(context, (client) => client.cost(input.period))
  if (input.json) {
    output.printJson(reply)
    return undefined
  }
  output.print(
    `${output.style('bold', formatUsd(reply.total_usd))} in ${plural(reply.calls, 'model call')} (${words[reply.period]})`,
  )
  if (reply.unpriced_calls > 0) {
    output.print(
      `${plural(reply.unpriced_calls, 'call')} of models without a price came on top of it, at an unknown cost.`,
    )
  }
  if (reply.by_model.length === 0) return undefined
  output.print()
  output.printTable(
    reply.by_model.map((row) => [
      row.model,
      formatCount(row.calls),
      formatCount(row.input_tokens),
      formatCount(row.output_tokens),
      formatCount(row.cache_read_tokens),
      formatCount(row.cache_write_tokens),
      formatUsd(row.cost_usd),
    ]),
    { header: ['Model', 'Calls', 'Input', 'Output', 'Cache read', 'Cache write', 'Cost'] },
  )
  return undefined
}

const words = { today: 'today', week: 'last 7 days', month: 'last 30 days', all: 'since the beginning' }
