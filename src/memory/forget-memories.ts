import { parseAnyJson } from '../base/json.ts'
import { everyPage, type Forgetting } from './forgetting.ts'
import { type Memories, selectMemories } from './memories.ts'
import { type Memory, memoryFromRow } from './memory.ts'
import { isMentionedIn, type Mentions } from './mentions.ts'

const rowsAtOnce = 200
const changesAtOnce = 20

/** Memories that mention it, those of files that it names, and what the journal of changes still holds. */
export async function forgetMemories(forgetting: Forgetting, memories: Memories): Promise<number> {
  const { database, userId, mentions } = forgetting
  const ofFiles = await forgetFiles(forgetting)
  let count = 0
  await everyPage<Memory>(
    forgetting,
    async (last) => {
      let query = selectMemories(database.read, userId).orderBy('created_at').orderBy('id').limit(rowsAtOnce)
      if (last) {
        query = query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('created_at', 'id'), '>', tuple(last.createdAt, last.id)),
        )
      }
      return (await query.execute()).map(memoryFromRow)
    },
    async (page) => {
      const found = page.filter((memory) => ofFiles.has(memory.id) || isAbout(memory, mentions))
      if (found.length === 0) return
      await database.write(async (writer) => {
        for (const memory of found) await memories.removeIn(writer, memory)
      })
      count += found.length
    },
  )
  await forgetChanges(forgetting)
  return count
}

function isAbout({ content, title, category, tags, speaker }: Memory, mentions: Mentions): boolean {
  return [content, title, category, speaker, ...tags].some((text) => text !== null && mentions(text))
}

/** Returns the ids of their passages, whose memories go too. The files themselves stay where they are. */
async function forgetFiles({ database, userId, mentions }: Forgetting): Promise<Set<string>> {
  const files = await database.read
    .selectFrom('memory_files')
    .select(['id', 'root', 'path'])
    .where('user_id', '=', userId)
    .execute()
  const passages = new Set<string>()
  for (const file of files.filter(({ root, path }) => mentions(root) || mentions(path))) {
    const rows = await database.read.selectFrom('chunks').select('id').where('file_id', '=', file.id).execute()
    for (const row of rows) passages.add(row.id)
    await database.write(async (writer) => {
      await writer.deleteFrom('memory_files').where('user_id', '=', userId).where('id', '=', file.id).execute()
    })
  }
  return passages
}

async function forgetChanges(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ at: number; id: string; data: string }>(
    forgetting,
    async (last) => {
      let query = database.read.selectFrom('memory_changes').select(['at', 'id', 'data']).where('user_id', '=', userId)
      if (last) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('at', 'id'), '>', tuple(last.at, last.id)))
      return await query.orderBy('at').orderBy('id').limit(changesAtOnce).execute()
    },
    async (page) => {
      const found = page.filter(({ data }) => {
        const parsed = parseAnyJson(data)
        return parsed.ok ? isMentionedIn(parsed.value, mentions) : mentions(data)
      })
      if (found.length === 0) return
      const ids = found.map((change) => change.id)
      await database.write(async (writer) => {
        await writer.deleteFrom('memory_changes').where('user_id', '=', userId).where('id', 'in', ids).execute()
      })
    },
  )
}
