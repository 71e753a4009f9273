import type { Writer } from '../../storage/database.ts'
import { type AssetFailure, failure } from '../asset-failure.ts'

/** What the pinned blocks of an agent have together, and what one of them has of that. Those that are gone have nothing. */
export async function pinnedTokens(
  writer: Writer,
  { userId, agent, label }: { userId: string; agent: string; label: string },
): Promise<{ all: number; own: number }> {
  const rows = await writer
    .selectFrom('pins')
    .innerJoin('blocks', (join) =>
      join.onRef('blocks.user_id', '=', 'pins.user_id').onRef('blocks.label', '=', 'pins.label'),
    )
    .select(['blocks.label', 'blocks.tokens'])
    .where('pins.user_id', '=', userId)
    .where('pins.agent', '=', agent)
    .where('blocks.is_deleted', '=', 0)
    .execute()
  return {
    all: rows.reduce((sum, { tokens }) => sum + tokens, 0),
    own: rows.find((row) => row.label === label)?.tokens ?? 0,
  }
}

/**
 * ASSET-3: what is pinned, without this block, and its new size must fit. What becomes smaller always may: where the
 * budget was lowered, there is no other way back into it.
 */
export function checkBudget(
  pinned: { all: number; own: number },
  tokens: number,
  budget: number,
): AssetFailure | undefined {
  const next = pinned.all - pinned.own + tokens
  if (next <= budget || next < pinned.all) return undefined
  return failure(
    'budget',
    `Block budget exceeded: ${thousands(pinned.all)}/${thousands(budget)} tokens. ` +
      `This write would use ${thousands(tokens)} tokens. Use /compact or /unpin to free space.`,
  )
}

function thousands(tokens: number): string {
  return tokens < 1_000 ? String(tokens) : `${Math.floor(tokens / 1_000)}k`
}
