import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import { canonicalJson, isDeeperThan, parseJson } from '../../base/json.ts'
import { findHiddenIn, oneLine } from '../../base/text.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Database } from '../../storage/database.ts'
import { identityOf, type McpOffers, type McpServerSettings, noOffers, offersSchema } from './server-program.ts'

const maxTools = 200
const maxNameLength = 128
const maxDescriptionLength = 8_000
const largestSchema = 64 * 1024
const deepestSchema = 20

const jsonObject = z.record(z.string(), z.custom<Json>())

/** A tool as its server describes it: the owner approves it, and the fingerprint covers it. */
const listedToolSchema = z.object({
  name: z.string().min(1).max(maxNameLength),
  title: z.string().max(maxNameLength).optional(),
  description: z.string().max(maxDescriptionLength).optional(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.optional(),
  annotations: z
    .object({
      title: z.string().max(maxNameLength).optional(),
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
      openWorldHint: z.boolean().optional(),
    })
    .optional(),
})
export type ListedTool = z.infer<typeof listedToolSchema>

export type ToolListing = { ok: true; tools: ListedTool[] } | { ok: false; problem: string }

/**
 * Checks a server's list against limits. One tool that hides something, or is too large for the owner to read, rejects
 * the whole server: such a server cannot be trusted at all (SEC-14).
 */
export function readToolListing(listed: readonly unknown[]): ToolListing {
  if (listed.length > maxTools) return refused(`It lists ${listed.length} tools; the limit is ${maxTools}.`)
  const tools: ListedTool[] = []
  for (const [index, given] of listed.entries()) {
    const which = `Its ${index + 1}. tool`
    if (isDeeperThan(given as Json, deepestSchema)) {
      return refused(`${which} is nested more than ${deepestSchema} levels deep.`)
    }
    const size = JSON.stringify(given)?.length ?? 0
    if (size > largestSchema) return refused(`${which} has ${size} characters; the limit is ${largestSchema}.`)
    const read = listedToolSchema.safeParse(given)
    if (!read.success) {
      const [issue] = read.error.issues
      return refused(`${which} is not valid: ${issue?.path.join('.')}: ${issue?.message}`)
    }
    const hidden = findHiddenIn(read.data as Json, 'tool')
    if (hidden) {
      return refused(`${which} contains an invisible character (${hidden.character}), in ${hidden.path}.`)
    }
    if (tools.some((tool) => tool.name === read.data.name)) {
      return refused(`It lists two tools named ${JSON.stringify(read.data.name)}.`)
    }
    tools.push(read.data)
  }
  return { ok: true, tools: tools.sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

function refused(problem: string): { ok: false; problem: string } {
  return { ok: false, problem: problem.toWellFormed() }
}

export type McpApproval = z.infer<typeof keptSchema> & { isEnabled: boolean; fingerprint: string | null }

/** Stored in `tool_states` under `mcp:NAME`. */
export type McpApprovals = ReturnType<typeof createMcpApprovals>

const keptSchema = z.object({
  tools: z.array(listedToolSchema),
  /** The changes since, if the server was switched off because of them. */
  changes: z.array(z.string()),
  /** It required a login when it was last used, and there was none since. */
  needsLogin: z.boolean().default(false),
  /** The scopes that it asked for then; the next login asks for them. */
  loginScope: z.string().default(''),
  offers: offersSchema.default(noOffers),
})
const nothing = { tools: [], changes: [], needsLogin: false, loginScope: '', offers: noOffers }
const maxChanges = 100

export function createMcpApprovals({ database, clock }: { database: Database; clock: Clock }) {
  async function read(server: string): Promise<McpApproval> {
    const rows = database.read.selectFrom('tool_states').selectAll()
    const row = await rows.where('name', '=', rowName(server)).executeTakeFirst()
    const kept = parseJson(row?.state ?? JSON.stringify(nothing), keptSchema)
    // An unreadable row counts as not approved.
    if (!row || !kept.ok) return { isEnabled: false, fingerprint: null, ...nothing }
    return { isEnabled: row.is_enabled === 1, fingerprint: row.fingerprint, ...kept.value }
  }

  async function write(server: string, approval: McpApproval): Promise<void> {
    const { isEnabled, fingerprint, changes, ...kept } = approval
    const change = {
      is_enabled: isEnabled ? (1 as const) : (0 as const),
      fingerprint,
      state: JSON.stringify({ ...kept, changes: changes.slice(0, maxChanges) }),
      updated_at: clock.now(),
    }
    await database.write((writer) =>
      writer
        .insertInto('tool_states')
        .values({ name: rowName(server), hosts: '[]', ...change })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(change))
        .execute(),
    )
  }

  return {
    read,
    approve: (
      server: string,
      approved: { fingerprint: string; tools: readonly ListedTool[]; offers?: McpOffers },
    ): Promise<void> => {
      const { fingerprint, tools, offers = noOffers } = approved
      return write(server, { isEnabled: true, ...nothing, fingerprint, tools: [...tools], offers })
    },
    /** By the owner, or because it differs from what was approved: then with the changes. */
    async disable(server: string, changes: readonly string[] = []): Promise<void> {
      await write(server, { ...(await read(server)), isEnabled: false, changes: [...changes] })
    },
    async note(
      server: string,
      seen: Partial<Pick<McpApproval, 'needsLogin' | 'loginScope' | 'offers'>>,
    ): Promise<void> {
      const known = await read(server)
      const noted = { ...known, ...seen }
      if (canonicalJson(noted) !== canonicalJson(known)) await write(server, noted)
    },
  }
}

export function readNeedLogin(rows: readonly { name: string; state: string | null }[]): string[] {
  return rows.flatMap(({ name, state }) => {
    const kept = name.startsWith(rowName('')) ? parseJson(state ?? '', keptSchema) : undefined
    return kept?.ok && kept.value.needsLogin ? [name.slice(rowName('').length)] : []
  })
}

function rowName(server: string): string {
  return `mcp:${server}`
}

/** Everything that the approval covers: the server, and every tool's name, texts, schemas and hints. */
export function serverFingerprint(settings: McpServerSettings, tools: readonly ListedTool[]): string {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  return sha256(canonicalJson({ server: identityOf(settings), tools: sorted }))
}

/** The differences, one line each: removed with `-`, added with `+`. */
export function describeChanges(before: readonly ListedTool[], now: readonly ListedTool[]): string[] {
  const old = new Map(before.map((tool) => [tool.name, tool]))
  const added = now.filter((tool) => !old.has(tool.name))
  const removed = before.filter((tool) => !now.some(({ name }) => name === tool.name))
  return [
    ...added.map((tool) => `added ${tool.name}: ${oneLine(tool.description ?? '')}`),
    ...removed.map((tool) => `removed ${tool.name}`),
    ...now.flatMap((tool) => describeTool(old.get(tool.name) ?? tool, tool)),
  ]
}

const parts = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const

function describeTool(was: ListedTool, is: ListedTool): string[] {
  return parts.flatMap((part) => {
    const [before, now] = [shown(was[part]), shown(is[part])]
    if (before === now) return []
    return [`changed ${is.name}, its ${part}:`, ...changedPart('-', before, now), ...changedPart('+', now, before)]
  })
}

/** Only around the difference: a schema may be long. */
function changedPart(sign: string, text: string, other: string): string[] {
  if (text === '') return []
  let start = 0
  while (start < text.length && text[start] === other[start]) start += 1
  let end = 0
  const most = Math.min(text.length, other.length) - start
  while (end < most && text.at(-1 - end) === other.at(-1 - end)) end += 1
  const from = Math.max(0, start - context)
  const to = Math.min(text.length, text.length - end + context)
  const piece = oneLine(text.slice(from, Math.min(to, from + maxShown)))
  return [`  ${sign} ${from > 0 ? '… ' : ''}${piece}${to < text.length || to > from + maxShown ? ' …' : ''}`]
}

const context = 40
const maxShown = 600

function shown(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : canonicalJson(value)
}

const maxToolName = 64

/** `mcp_calendar_create_event`. Two tools with the same result are both rejected: the order must not decide. */
export function nameTools(server: string, tools: readonly ListedTool[]) {
  const named = tools.map((tool) => ({ tool, name: `mcp_${slugOf(server)}_${slugOf(tool.name)}` }))
  return named.map(({ tool, name }) => ({ tool, name, problem: problemOf(name, named, tool) }))
}

function problemOf(name: string, named: readonly { name: string }[], tool: ListedTool): string | null {
  if (slugOf(tool.name) === '') return 'Its name contains no letters or digits.'
  if (name.length > maxToolName) return `Its name would be ${name}, which is longer than ${maxToolName} characters.`
  if (named.filter((other) => other.name === name).length > 1) return `Another one would also be named ${name}.`
  return null
}

/** Lower-case letters, digits and single underscores: `createEvent` and `Create.event` become `create_event`. */
export function slugOf(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '')
}
