import { resolve } from 'node:path'
import { writeFileAtomically } from '../../base/files.ts'
import { formatBytes, formatTime, plural } from '../../base/text.ts'
import { type ExportFormat, folders, organize } from '../../protocol/organize.ts'
import { type FoundReply, type SearchKind, search as searchApi } from '../../protocol/search.ts'
import { CommandError, type CommandHandler } from '../command.ts'
import { type ApiClient, apiCommand, findSession, withFamiliar } from '../connect.ts'
import type { Output } from '../output.ts'

/** One search over conversations, memory, notes, files, tools, schedules and settings. */
export const search = apiCommand(
  searchApi,
  (api, { words, kind, limit }: { words: string[]; kind?: SearchKind[]; limit: number }) =>
    api.everything({ q: words.join(' '), limit, ...(kind && { kinds: kind.join(',') }) }),
  ({ found }, output) => {
    if (found.length === 0) return 'Nothing was found.'
    for (const [kind, ofKind] of Map.groupBy(found, (one) => one.kind)) {
      output.print(output.style('bold', headings[kind]))
      for (const one of ofKind) printFound(output, one)
    }
    return undefined
  },
)

const headings: Record<SearchKind, string> = {
  conversation: 'Conversations',
  message: 'Messages',
  memory: 'Memory',
  note: 'Notes',
  file: 'Files',
  tool: 'Tools',
  schedule: 'Schedules',
  setting: 'Settings',
}

function printFound(output: Output, { kind, id, title, snippet, at, message }: FoundReply): void {
  const who = message && (message.role === 'user' ? 'you' : 'Familiar')
  const about = [who, at && formatTime(at), kind === 'file' ? '' : id].filter(Boolean).join(', ')
  output.print(`  ${title}${about ? `  ${output.style('dim', about)}` : ''}`)
  if (snippet.text === '') return
  let line = ''
  let end = 0
  for (const [from = 0, to = 0] of snippet.marks) {
    line += snippet.text.slice(end, from) + output.style('bold', snippet.text.slice(from, to))
    end = to
  }
  output.print(`    ${line}${snippet.text.slice(end)}`)
}

export const listFolders = apiCommand(
  folders,
  (api) => api.list(),
  (listed) => ({
    empty: 'No folders yet. Create one: familiar folders add "Travel"',
    header: ['Folder', 'Id'],
    rows: listed.folders.map(({ name, id }) => [name, id]),
  }),
)

export const addFolder = apiCommand(
  folders,
  (api, { name }: { name: string }) => api.add({ name }),
  ({ name }) => `The folder ${name} was created.`,
)

export const renameFolder = apiCommand(
  folders,
  async (api, { folder, name }: { folder: string; name: string }, { client }) =>
    api.rename({ id: await folderNamed(client, folder), name }),
  ({ name }, _output, { folder }) => `${folder} is now named ${name}.`,
)

export const removeFolder = apiCommand(
  folders,
  async (api, { folder }: { folder: string }, { client }) => api.remove({ id: await folderNamed(client, folder) }),
  ({ name }) => `The folder ${name} was removed. Its conversations are kept.`,
)

async function folderNamed(client: ApiClient, name: string): Promise<string> {
  const { folders: all } = await client.api(folders).list()
  const found = all.find((folder) => folder.id === name || folder.name === name)
  if (found) return found.id
  throw new CommandError(`There is no folder ${JSON.stringify(name)}.`, {
    code: 'not_found',
    hint:
      all.length > 0
        ? `There are: ${all.map((folder) => folder.name).join(', ')}.`
        : 'Create one: familiar folders add',
  })
}

async function idsOf(client: ApiClient, names: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const name of names) ids.push((await findSession(client, name)).id)
  return ids
}

const count = (sessions: readonly string[]) => plural(sessions.length, 'session')

export const moveSessions = apiCommand(
  organize,
  async (api, { sessions, to }: { sessions: string[]; to?: string }, { client }) =>
    api.move({
      sessions: await idsOf(client, sessions),
      folder: to === undefined ? null : await folderNamed(client, to),
    }),
  ({ sessions }, _output, { to }) =>
    to === undefined ? `Moved ${count(sessions)} out of its folder.` : `Moved ${count(sessions)} to ${to}.`,
)

export const unarchiveSession = apiCommand(
  organize,
  async (api, { sessions }: { sessions: string[] }, { client }) =>
    api.unarchive({ sessions: await idsOf(client, sessions) }),
  ({ sessions }) => `Unarchived ${count(sessions)}.`,
)

export const deleteSessions = apiCommand(
  organize,
  async (api, { sessions }: { sessions: string[] }, { client }) =>
    api.delete({ sessions: await idsOf(client, sessions) }),
  ({ sessions }, output) => {
    output.print(`Deleted ${count(sessions)}. It can be restored for 30 days:`)
    output.print(`  ${output.commandLine(`sessions restore ${sessions.join(' ')}`)}`)
  },
)

export const restoreSessions = apiCommand(
  organize,
  async (api, { sessions }: { sessions: string[] }) => {
    const { sessions: deleted } = await api.deleted()
    const ids = sessions.map((name) => {
      const matches = deleted.filter(({ id }) => id === name || (name.length >= 8 && id.startsWith(name)))
      if (matches.length === 1 && matches[0]) return matches[0].id
      throw new CommandError(`There is no deleted session ${JSON.stringify(name)}.`, {
        code: 'not_found',
        hint: 'List them: familiar sessions deleted',
      })
    })
    return api.restore({ sessions: ids })
  },
  ({ sessions }) => `Restored ${count(sessions)}.`,
)

export const deletedSessions = apiCommand(
  organize,
  (api) => api.deleted(),
  (listed) => ({
    empty: 'No deleted sessions.',
    header: ['Session', 'Title', 'Deleted', 'Restorable until', 'Id'],
    rows: listed.sessions.map((session) => [
      session.contact,
      session.title ?? '',
      formatTime(session.deleted_at),
      formatTime(session.restorable_until),
      session.id,
    ]),
  }),
)

/** One file of one or several sessions, for people or programs. */
export const exportSessionFile: CommandHandler<{
  sessions: string[]
  format: ExportFormat
  html?: boolean
  out?: string
}> = async (context, input) => {
  const { output, signal } = context
  const format = input.html ? 'html' : input.format
  const data = await withFamiliar(context, async (client) => {
    const sessions = (await idsOf(client, input.sessions)).join(',')
    return Buffer.concat(await Array.fromAsync(client.bytes(organize.export, { sessions, format }, signal)))
  })
  if (input.out === undefined) return output.print(data.toString().trimEnd())
  const path = resolve(input.out)
  await writeFileAtomically(path, data)
  return output.report(
    input.json,
    { path, bytes: data.length, format, sessions: input.sessions.length },
    `${path}: ${formatBytes(data.length)}. It contains the messages, the replies${format === 'html' ? ', small pictures' : ''} and the names of files.`,
  )
}
