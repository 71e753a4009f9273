import type { Resource } from '@modelcontextprotocol/server'
import type { AssetActor } from '../../../assets/asset-backend.ts'
import { blockUri, readBlockLabel } from '../../../assets/blocks/block-label.ts'
import { isWorkChannel } from '../../../sessions/work-channels.ts'
import { isoTime } from '../../http/iso-time.ts'
import type { McpCaller } from '../mcp-caller.ts'
import type { McpNeeds } from '../mcp-needs.ts'
import type { McpResources } from '../mcp-surface.ts'
import { readCursor, writeCursor } from './resource-cursor.ts'
import { markedText, memoryText, metaOf, transcriptOf } from './resource-text.ts'
import { memoryUri, type NamedResource, readResourceUri, sessionUri, templates, uriOfBlock } from './resource-uri.ts'

const pageSize = 100
const mostEvents = 5_000
const mimeType = 'text/markdown'

/** Blocks, then sessions, then memories, newest first: read only, and nothing but the caller's own. */
export function createMcpResources(
  needs: Pick<McpNeeds, 'memory' | 'conversations' | 'assets'>,
  { userId }: McpCaller,
): McpResources {
  const { memory, conversations } = needs
  const actor: AssetActor = { userId, author: 'user', agent: 'main', trust: 'owner' }

  async function blocks(): Promise<{ label: string; bytes: number; modifiedAt: number }[]> {
    const listed = await needs.assets?.assets.list(actor, { prefix: blockUri('') })
    if (!listed?.ok) return []
    return listed.entries.map(({ uri, bytes, modifiedAt }) => {
      return { label: uri.slice(blockUri('').length), bytes, modifiedAt }
    })
  }

  async function blockPage(after: string) {
    const further = (await blocks()).filter(({ label }) => label > after).sort((a, b) => (a.label < b.label ? -1 : 1))
    const shown = further.slice(0, pageSize)
    const resources = shown.map(({ label, bytes, modifiedAt }): Resource => {
      return { uri: uriOfBlock(label), name: label, mimeType, size: bytes, ...listedAs(modifiedAt) }
    })
    const last = further.length > shown.length ? shown.at(-1) : undefined
    const next = last ? ({ kind: 'blocks', after: last.label } as const) : ({ kind: 'sessions', after: 0 } as const)
    return { resources, nextCursor: writeCursor(next) }
  }

  async function sessionPage(after: number) {
    const sessions = await conversations.sessions(userId, { includeArchived: true })
    const resources = sessions.slice(after, after + pageSize).map(({ id, channel, contact, updatedAt }): Resource => {
      return { uri: sessionUri(id), name: `${channel}: ${contact}`, mimeType, ...listedAs(updatedAt) }
    })
    const isMore = sessions.length > after + pageSize
    const next = isMore ? ({ kind: 'sessions', after: after + pageSize } as const) : firstMemories
    return { resources, nextCursor: writeCursor(next) }
  }

  async function memoryPage(before: { createdAt: number; id: string } | undefined) {
    const page = await memory.memories.list(userId, { limit: pageSize + 1, before })
    const shown = page.slice(0, pageSize)
    const resources = shown.map(({ id, kind, createdAt, updatedAt, label }): Resource => {
      const name = `${kind} of ${isoTime(createdAt).slice(0, 10)}`
      return { uri: memoryUri(id), name, mimeType, ...listedAs(updatedAt), _meta: metaOf(label) }
    })
    const last = page.length > pageSize ? shown.at(-1) : undefined
    return {
      resources,
      ...(last && {
        nextCursor: writeCursor({ kind: 'memories', before: { createdAt: last.createdAt, id: last.id } }),
      }),
    }
  }

  async function textOf(named: NamedResource) {
    if (named.kind === 'block') {
      const label = readBlockLabel(named.label)
      const loaded = label.ok ? await needs.assets?.assets.load(actor, { path: blockUri(label.label) }) : undefined
      return loaded?.ok ? { text: markedText(loaded.content, loaded.trust), label: loaded.trust } : undefined
    }
    if (named.kind === 'memory') {
      const found = await memory.memories.get(userId, named.id)
      return found && { text: memoryText(found), label: found.label }
    }
    const session = await conversations.findSession(userId, named.id)
    if (session?.id !== named.id || isWorkChannel(session.channel)) return undefined
    const after = Math.max(0, session.lastSeq - mostEvents)
    const events = await conversations.history(userId, session.id, { after, limit: mostEvents })
    return { text: transcriptOf(session, events), label: 'internal' } as const
  }

  const complete: Record<string, (value: string) => Promise<string[]>> = {
    [`${templates.block} label`]: async () => (await blocks()).map(({ label }) => label),
    [`${templates.memory} id`]: async (value) =>
      value.length < 8 ? newest() : (await memory.memories.getMany(userId, [value])).map(({ id }) => id),
    [`${templates.session} id`]: async () => (await conversations.sessions(userId)).map(({ id }) => id),
  }
  const newest = async () => (await memory.memories.list(userId, { limit: pageSize })).map(({ id }) => id)

  return {
    templates: [
      { name: 'block', title: 'A block of the workspace', uriTemplate: templates.block, mimeType },
      { name: 'memory', title: 'One memory', uriTemplate: templates.memory, mimeType },
      { name: 'session', title: 'What was said in a session', uriTemplate: templates.session, mimeType },
    ],
    list(written) {
      const cursor = readCursor(written)
      if (cursor.kind === 'blocks') return blockPage(cursor.after)
      return cursor.kind === 'sessions' ? sessionPage(cursor.after) : memoryPage(cursor.before)
    },
    async read(uri) {
      const named = readResourceUri(uri)
      const found = named && (await textOf(named))
      return found && { contents: [{ uri, mimeType, text: found.text, _meta: metaOf(found.label) }] }
    },
    async complete(template, { argument, value }) {
      const found = await complete[`${template} ${argument}`]?.(value)
      return (found ?? []).filter((one) => one.startsWith(value))
    },
  }
}

const firstMemories = { kind: 'memories', before: undefined } as const

function listedAs(changedAt: number): Pick<Resource, 'annotations' | '_meta'> {
  return { annotations: { lastModified: isoTime(changedAt) }, _meta: { 'familiar/private': true } }
}
