import type { Clock } from '../../base/clock.ts'
import type { Label } from '../../protocol/label.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import { type AssetFailure, notThere } from '../asset-failure.ts'
import { checkBudget, pinnedTokens } from './block-budget.ts'
import { blockUri, readBlockLabel } from './block-label.ts'

export interface Pin {
  label: string
  /** From 1, without gaps. */
  position: number
  tokens: number
  trust: Label
  pinnedAt: number
}

export interface PinnedList {
  /** In their order. */
  pins: Pin[]
  tokens: number
  budget: number
}

type PinOutcome = ({ ok: true; pin: Pin } & Omit<PinnedList, 'pins'>) | AssetFailure

/** Whose pins: those of one agent of one user. */
export interface PinOwner {
  userId: string
  agent: string
}

/** Which blocks an agent has in its prompt, and in which order. Pinning changes no block, and writing one pins nothing. */
export interface Pins {
  list(owner: PinOwner): Promise<PinnedList>
  /** At the end or at `position`; what is pinned already moves there. Must fit into the budget. */
  pin(owner: PinOwner, request: { path: string; position?: number | undefined }): Promise<PinOutcome>
  unpin(owner: PinOwner, request: { path: string }): Promise<({ ok: true; label: string } & PinnedList) | AssetFailure>
}

export function createPins(dependencies: {
  database: Database
  clock: Clock
  budget: () => number
  /** After the commit. */
  onPinnedChanged(userId: string): Promise<void>
}): Pins {
  const { database, clock, budget, onPinnedChanged } = dependencies

  async function pinIn(writer: Writer, owner: PinOwner, label: string, position?: number): Promise<PinOutcome> {
    const { userId: user_id, agent } = owner
    const block = await writer
      .selectFrom('blocks')
      .select('tokens')
      .where('user_id', '=', user_id)
      .where('label', '=', label)
      .where('is_deleted', '=', 0)
      .executeTakeFirst()
    if (!block) return notThere(blockUri(label))
    const known = (await pinRows(writer, owner)).map((row) => row.label)
    if (!known.includes(label)) {
      const problem = checkBudget(await pinnedTokens(writer, { ...owner, label }), block.tokens, budget())
      if (problem) return problem
      await writer
        .insertInto('pins')
        .values({ user_id, agent, label, position: known.length + 1, pinned_at: clock.now() })
        .execute()
    }
    const others = known.filter((one) => one !== label)
    // Who is pinned already and told no place stays where it is.
    const place = position ?? (known.includes(label) ? known.indexOf(label) + 1 : known.length + 1)
    await order(writer, owner, others.toSpliced(Math.max(0, place - 1), 0, label))
    const { pins, ...sums } = await listIn(writer, owner)
    const pin = pins.find((one) => one.label === label)
    return pin ? { ok: true, pin, ...sums } : notThere(blockUri(label))
  }

  async function unpinIn(writer: Writer, owner: PinOwner, label: string) {
    const { numDeletedRows } = await writer
      .deleteFrom('pins')
      .where('user_id', '=', owner.userId)
      .where('agent', '=', owner.agent)
      .where('label', '=', label)
      .executeTakeFirst()
    if (Number(numDeletedRows) === 0)
      return { ...notThere(blockUri(label)), message: `${blockUri(label)} is not pinned.` }
    const left = await pinRows(writer, owner)
    await order(
      writer,
      owner,
      left.map((row) => row.label),
    )
    return { ok: true as const, label, ...(await listIn(writer, owner)) }
  }

  async function listIn(reader: Reader | Writer, owner: PinOwner): Promise<PinnedList> {
    const rows = await pinRows(reader, owner)
    const pins = rows.map(({ label, position, tokens, trust, is_deleted, pinned_at }): Pin => {
      return {
        label,
        position,
        tokens: is_deleted ? 0 : (tokens ?? 0),
        trust: trust ?? 'internal',
        pinnedAt: pinned_at,
      }
    })
    return { pins, tokens: pins.reduce((sum, pin) => sum + pin.tokens, 0), budget: budget() }
  }

  return {
    list: (owner) => listIn(database.read, owner),
    async pin(owner, { path, position }) {
      const read = readBlockLabel(withoutScheme(path))
      if (!read.ok) return read
      const pinned = await database.write((writer) => pinIn(writer, owner, read.label, position))
      if (pinned.ok) await onPinnedChanged(owner.userId)
      return pinned
    },
    async unpin(owner, { path }) {
      const read = readBlockLabel(withoutScheme(path))
      if (!read.ok) return read
      const unpinned = await database.write((writer) => unpinIn(writer, owner, read.label))
      if (unpinned.ok) await onPinnedChanged(owner.userId)
      return unpinned
    },
  }
}

/** A command may name a block by its label alone. */
function withoutScheme(path: string): string {
  return path.replace(/^(familiar|ikigai):\/\//i, '')
}

function pinRows(reader: Reader | Writer, { userId, agent }: PinOwner) {
  return reader
    .selectFrom('pins')
    .leftJoin('blocks', (join) =>
      join.onRef('blocks.user_id', '=', 'pins.user_id').onRef('blocks.label', '=', 'pins.label'),
    )
    .select(['pins.label', 'pins.position', 'pins.pinned_at', 'blocks.tokens', 'blocks.trust', 'blocks.is_deleted'])
    .where('pins.user_id', '=', userId)
    .where('pins.agent', '=', agent)
    .orderBy('pins.position')
    .orderBy('pins.label')
    .execute()
}

/** Gives each its place; those that are there already are left alone. */
async function order(writer: Writer, owner: PinOwner, labels: readonly string[]): Promise<void> {
  const { userId, agent } = owner
  const places = new Map((await pinRows(writer, owner)).map(({ label, position }) => [label, position]))
  for (const [index, label] of labels.entries()) {
    if (places.get(label) === index + 1) continue
    await writer
      .updateTable('pins')
      .set({ position: index + 1 })
      .where('user_id', '=', userId)
      .where('agent', '=', agent)
      .where('label', '=', label)
      .execute()
  }
}
