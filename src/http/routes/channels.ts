import { toDisplayText } from '../../base/text.ts'
import type { Outbox } from '../../channels/create-outbox.ts'
import type { OutboxItem } from '../../channels/outbox.ts'
import type { TelegramDesk } from '../../channels/telegram/services.ts'
import type { Speaker } from '../../models/speech/speaker.ts'
import { languageCode } from '../../models/speech/speech.ts'
import type { Transcriber } from '../../models/speech/transcriber.ts'
import * as api from '../../protocol/channels.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/messages.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { readBodyBytes } from '../guards.ts'
import { handle, type Route } from '../route.ts'

const maxBytes = 20 * 1024 * 1024

type Voice = NonNullable<HttpDependencies['voice']>

/** Speech for pages and clients without an engine of their own. */
export function createVoiceRoutes(voice: Voice): Route[] {
  const { speaker, transcriber } = voice
  return [
    handle(api.voice.status, async () => {
      const speech = await speaker.status()
      const transcription = transcriber.status()
      return {
        speech: { by: speech.by, hint: hintOf(speech), voices: speech.by === null ? [] : speech.voices },
        transcription: { by: transcription.by, hint: hintOf(transcription) },
      }
    }),
    handle(
      api.voice.transcribe,
      async ({ signal, context, query }) => {
        const data = await readBodyBytes(context, maxBytes)
        const mediaType = context.req.header('content-type') ?? 'audio/wav'
        const language = languageCode(query.language)
        const heard = await transcribe(voice, { data, mediaType, language, signal })
        return { text: heard.text, by: heard.by, language: heard.language ?? null, seconds: heard.seconds ?? null }
      },
      { maxBytes },
    ),
    handle(api.voice.speak, ({ body, signal }) => {
      return speak(voice, { text: body.text, voice: body.voice ?? null, language: body.language ?? null, signal })
    }),
    handle(api.voice.warm, async ({ signal }) => {
      // A model that cannot be loaded is reported by its first use.
      await Promise.all([speaker.warm(signal), transcriber.warm(signal)])
      const [speech, transcription] = [await speaker.status(), transcriber.status()]
      return { speech: speech.by !== null, transcription: transcription.by !== null }
    }),
  ]
}

/** Throws if there is no engine, or if it fails. */
export async function transcribe({ transcriber }: Voice, recording: Parameters<Transcriber['transcribe']>[0]) {
  const able = transcriber.status()
  if (able.by === null) throw new FamiliarError('unavailable', able.hint)
  const heard = await transcriber.transcribe(recording)
  if (heard.ok) return heard
  throw new FamiliarError(heard.fault === 'service' ? 'provider_error' : 'bad_request', heard.reason)
}

/** Replies with the audio. */
export async function speak({ speaker }: Voice, request: Parameters<Speaker['speak']>[0]): Promise<Response> {
  const spoken = await speaker.speak(request)
  if (!spoken.ok) throw new FamiliarError(spoken.fault === null ? 'unavailable' : 'provider_error', spoken.reason)
  const { data, mediaType } = spoken.recording
  return new Response(Uint8Array.from(data), {
    headers: { 'content-type': mediaType, ...(spoken.notice && { [noticeHeader]: encodeURIComponent(spoken.notice) }) },
  })
}

/** A sentence for the user, such as that another voice had to be used. */
const noticeHeader = 'x-voice-notice'

function hintOf(able: { by: string | null; hint?: string }): string | null {
  return able.by === null ? (able.hint ?? null) : null
}

const previewLength = 120

/** Outgoing messages. A token that may chat for the user may retry and cancel. */
export function createOutboxRoutes(outbox: Pick<Outbox, 'list' | 'counts' | 'show' | 'retry' | 'cancel'>): Route[] {
  return [
    handle(api.outbox.list, async ({ userId, query }) => {
      const { state, channel, limit } = query
      const items = await outbox.list(userId, { limit, ...(state && { state }), ...(channel && { channel }) })
      const counts = await outbox.counts(userId)
      return { items: items.map(withPreview), counts }
    }),
    handle(api.outbox.show, async ({ userId, params }) => withPreview(await outbox.show(userId, params.id))),
    handle(api.outbox.retry, async ({ userId, params }) => withPreview(await outbox.retry(userId, params.id))),
    handle(api.outbox.cancel, async ({ userId, params }) => withPreview(await outbox.cancel(userId, params.id))),
  ]
}

function withPreview(item: OutboxItem) {
  return { ...item, preview: previewOf(item.payload) }
}

/** The text, or the first other string field. */
function previewOf(payload: Json): string {
  const fields = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {}
  const words = [fields.text, fields.name, fields.emoji, fields.kind].find((value) => typeof value === 'string') ?? ''
  return toDisplayText(String(words)).slice(0, previewLength).toWellFormed()
}

/** Telegram, for the owner of this home. */
export function createTelegramRoutes(telegram: TelegramDesk): Route[] {
  return [
    handle(api.telegram.status, () => telegram.status()),
    handle(api.telegram.contacts, async () => ({ contacts: await telegram.contacts() })),
    handle(api.telegram.makeCode, async ({ body }) => {
      const made = await telegram.makeCode(body.user)
      return { ...made, user: made.user.name }
    }),
    handle(api.telegram.unpair, async ({ params }) => {
      const given = params.id
      if (!/^\d{1,15}$/.test(given)) throw new FamiliarError('not_found', 'A Telegram contact is a number')
      await telegram.unpair(Number(given))
      return { id: Number(given) }
    }),
  ]
}
