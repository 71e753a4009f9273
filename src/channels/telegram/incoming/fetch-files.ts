import { z } from 'zod'
import { type Clock, sleep } from '../../../base/clock.ts'
import type { MediaPart } from '../../../protocol/message.ts'
import type { MediaStore } from '../../../sessions/media-store.ts'
import type { Transcriber } from '../../../voice/transcriber.ts'
import type { TelegramAnswer, TelegramApi } from '../api/telegram-api.ts'
import { type AttachedFile, largestFileBytes } from './attached-files.ts'

const fileSchema = z.object({ file_path: z.string().min(1).max(1_000) })
const tries = 3
const pauseMs = 300

/** What became of the files of one message. */
export interface FetchedFiles {
  media: MediaPart[]
  /** What was said, and a line for each file that did not come or was not written down. */
  lines: string[]
  /** What the user is told at once, in full sentences. */
  problems: string[]
  /** At least one recording was written down. */
  isSpoken: boolean
}

export interface FileServices {
  api: TelegramApi
  media: Pick<MediaStore, 'put'>
  transcriber: Pick<Transcriber, 'status' | 'transcribe'>
  clock: Clock
}

/** Fetches the files and stores them; never throws but for an abort or a disk that is full. */
export async function fetchFiles(
  services: FileServices,
  files: readonly AttachedFile[],
  signal: AbortSignal,
): Promise<FetchedFiles> {
  const fetched: FetchedFiles = { media: [], lines: [], problems: [], isSpoken: false }
  for (const file of files) {
    const data = await fetchOne(services, file, signal)
    if (!data.ok) {
      fetched.lines.push(`[${file.what} ${JSON.stringify(file.name)}: it did not come, because ${data.reason}]`)
      fetched.problems.push(`Your ${file.what} did not come through: ${data.reason}.`)
      continue
    }
    const { name, mediaType } = file
    fetched.media.push(await services.media.put({ name, mediaType, data: data.bytes }))
    if (file.isSpoken) await writeDown(services.transcriber, { file, data: data.bytes, signal }, fetched)
  }
  return fetched
}

async function writeDown(
  transcriber: Pick<Transcriber, 'status' | 'transcribe'>,
  recording: { file: AttachedFile; data: Uint8Array; signal: AbortSignal },
  fetched: FetchedFiles,
): Promise<void> {
  const { file, data, signal } = recording
  const status = transcriber.status()
  const heard =
    status.by === null
      ? { ok: false as const, reason: status.hint }
      : await transcriber.transcribe({ data, mediaType: file.mediaType, signal })
  if (heard.ok && heard.text.trim() !== '') {
    fetched.lines.push(heard.text.trim())
    fetched.isSpoken = true
    return
  }
  const reason = (heard.ok ? 'nothing was said in it' : heard.reason).replace(/[.\s]+$/, '')
  const length = file.seconds === undefined ? '' : `, ${Math.round(file.seconds)} s`
  fetched.lines.push(`[${file.what}${length}, kept as ${file.name}; it was not written down, because: ${reason}]`)
  fetched.problems.push(`Your ${file.what} was kept, but not written down: ${reason}.`)
}

type Fetched = { ok: true; bytes: Uint8Array } | { ok: false; reason: string }

async function fetchOne({ api, clock }: FileServices, file: AttachedFile, signal: AbortSignal): Promise<Fetched> {
  if ((file.bytes ?? 0) > largestFileBytes) return { ok: false, reason: 'it is larger than 20 MB' }
  let reason = ''
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const named = await api.call('getFile', { file_id: file.fileId }, { result: fileSchema, signal })
    const answer =
      named.kind === 'ok' ? await api.download(named.result.file_path, { maxBytes: largestFileBytes, signal }) : named
    if (answer.kind === 'ok') return { ok: true, bytes: answer.result }
    reason = reasonOf(answer)
    if (answer.kind === 'refused' && answer.code >= 400 && answer.code < 500 && answer.code !== 429) break
    if (attempt + 1 < tries) await sleep(clock, pauseMs * 2 ** attempt, signal)
  }
  return { ok: false, reason }
}

function reasonOf(answer: Exclude<TelegramAnswer<unknown>, { kind: 'ok' }>): string {
  if (answer.kind === 'refused')
    return answer.code === 413 ? 'it is larger than 20 MB' : `Telegram refused it (${answer.description})`
  return `Telegram was not reached (${answer.reason})`
}
