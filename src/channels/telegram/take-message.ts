import { z } from 'zod'
import type { InboundMessage } from '../../agent/conversations.ts'
import { sleep } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { errorStatus, FamiliarError } from '../../protocol/errors.ts'
import type { MediaPart } from '../../protocol/messages.ts'
import type { Writer } from '../../storage/database.ts'
import { foreignLine } from '../../tools/documents/foreign-text.ts'
import type { TelegramAnswer } from './api.ts'
import type { TelegramContact } from './pairing.ts'
import { telegramChannel } from './sender.ts'
import type { Handling, TelegramServices } from './services.ts'
import { hasWordsOfOthers, messageWords, type TelegramMessage } from './updates.ts'

const maxPauseMs = 30_000

/** Submits a message to the conversations, once: its key is made of ids that Telegram never reuses. */
export async function takeMessage(
  services: TelegramServices,
  said: { message: TelegramMessage; isEdit: boolean; contact: TelegramContact; text?: string },
  handling: Handling,
): Promise<void> {
  const { database, onStep } = services
  const { message, isEdit, contact } = said
  const key = keyOf(services, message, isEdit)
  const words = said.text ?? messageWords(message)
  if ((await storedText(services, contact.userId, key)) !== undefined || (isEdit && (await isUnchanged()))) {
    return await database.write(handling.move)
  }
  // An edited caption is submitted; the files came with the original message.
  const files = isEdit ? [] : attachedFiles(message)
  const fetched = await fetchFiles(services, files, handling.signal)
  if (files.length > 0) onStep('files_fetched')
  const text = [words, ...fetched.lines].filter((line) => line !== '').join('\n')
  if (text === '' && fetched.media.length === 0) {
    // A service message, such as a pinned message or a new picture.
    return await database.write(handling.move)
  }
  const { chat, message_id: messageId, reply_to_message: replied } = message
  const place = { chatId: chat.id, messageId, ...(replied && { replyTo: replied.message_id }) }
  const inbound: InboundMessage = {
    userId: contact.userId,
    channel: telegramChannel,
    contact: String(chat.id),
    sender: services.users.list().find(({ id }) => id === contact.userId)?.name ?? String(contact.id),
    source: telegramChannel,
    text: isEdit ? `[Correction of an earlier message of mine:]\n${text}` : text,
    media: fetched.media,
    key,
    immediate: false,
    metadata: { telegram: place, ...(fetched.isSpoken && { voice: true }) },
    ...(hasWordsOfOthers(message) && { label: 'untrusted' as const }),
  }
  await submit(services, inbound, fetched.problems, handling)
  onStep('message_submitted')

  /** Telegram also reports an edit for a new preview or reaction, and for each step of a live location. */
  async function isUnchanged(): Promise<boolean> {
    const isSaid = message.text !== undefined || message.caption !== undefined
    return !isSaid || (await storedText(services, contact.userId, keyOf(services, message, false))) === words
  }
}

/** Update numbers may restart; message numbers within a chat do not. */
function keyOf({ bot }: TelegramServices, message: TelegramMessage, isEdit: boolean): string {
  const { chat, message_id, edit_date = 0 } = message
  return `telegram:${bot.id}:${chat.id}:${message_id}${isEdit ? `:${edit_date}` : ''}`
}

const storedSchema = z.object({ text: z.string() })

async function storedText({ database }: TelegramServices, userId: string, key: string): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('inbox')
    .select('data')
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .executeTakeFirst()
  const stored = row && parseJson(row.data, storedSchema)
  return stored?.ok ? stored.value.text : undefined
}

/**
 * Until it is accepted or permanently rejected: while the queue is full it is retried, and later messages do not
 * overtake it.
 */
async function submit(
  services: TelegramServices,
  inbound: InboundMessage,
  problems: readonly string[],
  handling: Handling,
): Promise<void> {
  const { conversations, database, clock, logger } = services
  const { userId, contact, key = '' } = inbound
  const note = (text: string) => ({ userId, chatId: Number(contact), key: `${key}:told`, text })
  const moveAndTell = async (writer: Writer, texts: readonly string[]) => {
    if (texts.length > 0) await services.tell(writer, note(texts.join('\n')))
    await handling.move(writer)
  }
  for (let attempt = 0; ; attempt += 1) {
    try {
      await conversations.submit(inbound, (writer) => moveAndTell(writer, problems))
      break
    } catch (cause) {
      handling.signal.throwIfAborted()
      if (!(cause instanceof FamiliarError)) throw cause
      if (cause.code === 'rate_limited' || cause.code === 'storage_full') {
        const pause = cause.retryAfterSeconds === undefined ? 1_000 * 2 ** attempt : cause.retryAfterSeconds * 1_000
        logger.warn('a message from Telegram waits', { reason: cause.message, chat: contact })
        await sleep(clock, Math.min(maxPauseMs, pause), handling.signal)
      } else if (cause.code === 'conflict') {
        // The same message arrived before with other content, such as before its file could be fetched.
        return await database.write(handling.move)
      } else if (errorStatus[cause.code] < 500) {
        await database.write((writer) => moveAndTell(writer, [cause.message]))
        break
      } else throw cause
    }
  }
  services.wakeOutbox()
}

/** Telegram's limit for bots. */
export const largestFileBytes = 20 * 1024 * 1024

interface AttachedFile {
  fileId: string
  /** Its name in a sentence: `photo`, `voice message`. */
  what: string
  name: string
  mediaType: string
  /** As reported by Telegram; it may be missing. */
  bytes: number | undefined
  isSpoken: boolean
  seconds: number | undefined
}

type Given = {
  file_id: string
  file_size?: number | undefined
  mime_type?: string | undefined
  file_name?: string | undefined
  duration?: number | undefined
}

/** The files of a message; of a photo the largest size that may be fetched. */
export function attachedFiles(message: TelegramMessage): AttachedFile[] {
  const { message_id: number, photo, document, video, animation, audio, voice, video_note } = message
  const size = photo
    ?.filter(({ file_size }) => (file_size ?? 0) <= largestFileBytes)
    .toSorted((a, b) => b.width * b.height - a.width * a.height)[0]
  const kinds: [Given | undefined, { what: string; ending: string; mediaType: string; isSpoken?: true }][] = [
    [size ?? photo?.[0], { what: 'photo', ending: 'jpg', mediaType: 'image/jpeg' }],
    // An animation is also sent as a document, for older clients.
    [animation ? undefined : document, { what: 'document', ending: 'bin', mediaType: 'application/octet-stream' }],
    [video, { what: 'video', ending: 'mp4', mediaType: 'video/mp4' }],
    [animation, { what: 'animation', ending: 'mp4', mediaType: 'video/mp4' }],
    [audio, { what: 'audio', ending: 'mp3', mediaType: 'audio/mpeg' }],
    [voice, { what: 'voice message', ending: 'ogg', mediaType: 'audio/ogg', isSpoken: true }],
    [video_note, { what: 'video message', ending: 'mp4', mediaType: 'video/mp4' }],
  ]
  return kinds.flatMap(([given, { what, ending, mediaType, isSpoken }]) =>
    given === undefined
      ? []
      : {
          fileId: given.file_id,
          what,
          name: plainName(given.file_name) || `${what.replaceAll(' ', '-')}-${number}.${ending}`,
          mediaType: plainType(given.mime_type) ?? mediaType,
          bytes: given.file_size,
          isSpoken: isSpoken === true,
          seconds: given.duration,
        },
  )
}

/** For display and storage, never a path. */
function plainName(name: string | undefined): string {
  return foreignLine(name?.split(/[/\\]/).at(-1) ?? '', 120)
}

function plainType(type: string | undefined): string | undefined {
  const plain = type?.toLowerCase().split(';')[0]?.trim()
  return plain && /^[a-z0-9][a-z0-9.+-]{0,60}\/[a-z0-9][a-z0-9.+-]{0,80}$/.test(plain) ? plain : undefined
}

const fileSchema = z.object({ file_path: z.string().min(1).max(1_000) })
const tries = 3
const pauseMs = 300

interface FetchedFiles {
  media: MediaPart[]
  /** The transcripts, and a line for each file that was not received or not transcribed. */
  lines: string[]
  /** Sentences that are sent to the user at once. */
  problems: string[]
  isSpoken: boolean
}

/** Fetches and stores the files; throws only on abort or a full disk. */
async function fetchFiles(
  services: TelegramServices,
  files: readonly AttachedFile[],
  signal: AbortSignal,
): Promise<FetchedFiles> {
  const fetched: FetchedFiles = { media: [], lines: [], problems: [], isSpoken: false }
  for (const file of files) {
    const data = await fetchOne(services, file, signal)
    if (!data.ok) {
      fetched.lines.push(`[${file.what} ${JSON.stringify(file.name)}: not received, because ${data.reason}]`)
      fetched.problems.push(`Your ${file.what} was not received: ${data.reason}.`)
      continue
    }
    const { name, mediaType } = file
    const part = await services.media.put({ name, mediaType, data: data.bytes })
    if (!file.isSpoken) {
      fetched.media.push(part)
      continue
    }
    await writeDown(services, { file, data: data.bytes, signal }, fetched)
    // Recorded in the chat; a forwarded one is untrusted by the label of its message. Its text is in the message.
    fetched.media.push({ ...part, isOwn: true, reading: { state: 'text', note: '', text: '' } })
  }
  return fetched
}

async function writeDown(
  { transcriber }: TelegramServices,
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
  const reason = (heard.ok ? 'it contains no speech' : heard.reason).replace(/[.\s]+$/, '')
  const length = file.seconds === undefined ? '' : `, ${Math.round(file.seconds)} s`
  fetched.lines.push(`[${file.what}${length}, stored as ${file.name}; not transcribed, because: ${reason}]`)
  fetched.problems.push(`Your ${file.what} was stored, but not transcribed: ${reason}.`)
}

type Fetched = { ok: true; bytes: Uint8Array } | { ok: false; reason: string }

async function fetchOne({ api, clock }: TelegramServices, file: AttachedFile, signal: AbortSignal): Promise<Fetched> {
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
  return `Telegram could not be reached (${answer.reason})`
}
