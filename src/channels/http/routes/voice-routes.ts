import { FamiliarError } from '../../../protocol/error.ts'
import {
  speechRequestSchema,
  type TranscriptionReply,
  transcriptionReplySchema,
  type VoiceReply,
  voiceReplySchema,
} from '../../../protocol/voice-api.ts'
import type { Speaker } from '../../../voice/speaker.ts'
import type { Transcriber } from '../../../voice/transcriber.ts'
import { limitedBody } from '../guards/body-size-guard.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

const maxBytes = 20 * 1024 * 1024
const mediaTypes = [
  'audio/wav',
  'audio/x-wav',
  'audio/ogg',
  'audio/opus',
  'audio/mpeg',
  'audio/mp4',
  'audio/x-m4a',
  'audio/webm',
  'audio/flac',
]

/** For pages and clients that have a microphone and a speaker, and no ears and no voice of their own. */
export function createVoiceRoutes(voice: { speaker: Speaker; transcriber: Transcriber }): Route[] {
  const { speaker, transcriber } = voice
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/voice',
      summary: 'Who says things aloud and who writes down what is said.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: voiceReplySchema },
      async handle() {
        const speech = await speaker.status()
        const transcription = transcriber.status()
        const reply: VoiceReply = {
          speech: { by: speech.by, hint: hintOf(speech), voices: speech.by === null ? [] : [...speech.voices] },
          transcription: { by: transcription.by, hint: hintOf(transcription) },
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/voice/transcribe',
      summary: 'Write down what a recording says.',
      auth: 'token',
      scope: 'chat',
      // No type that a form of a foreign page can send.
      rawBody: { mediaTypes, maxBytes },
      reply: { status: 200, schema: transcriptionReplySchema },
      async handle({ context }) {
        const data = Buffer.concat(await Array.fromAsync(limitedBody(context, maxBytes)))
        const { signal } = context.req.raw
        const able = transcriber.status()
        if (able.by === null) throw new FamiliarError('unavailable', able.hint)
        const mediaType = context.req.header('content-type') ?? 'audio/wav'
        const transcription = await transcriber.transcribe({ data, mediaType, signal })
        if (!transcription.ok) {
          throw new FamiliarError(
            transcription.fault === 'service' ? 'provider_error' : 'bad_request',
            transcription.reason,
          )
        }
        const { text, by, seconds } = transcription
        const reply: TranscriptionReply = { text, by, seconds: seconds ?? null }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/voice/speak',
      summary: 'Say a text aloud: the answer is the sound.',
      auth: 'token',
      scope: 'chat',
      body: speechRequestSchema,
      reply: { status: 200, mediaTypes: ['audio/wav', 'audio/mpeg'] },
      async handle({ context, body }) {
        const spoken = await speaker.speak({
          text: body.text,
          voice: body.voice ?? null,
          signal: context.req.raw.signal,
        })
        if (!spoken.ok) throw new FamiliarError(spoken.fault === null ? 'unavailable' : 'provider_error', spoken.reason)
        const { data, mediaType } = spoken.recording
        return new Response(Uint8Array.from(data), { headers: { 'content-type': mediaType } })
      },
    }),
  ]
}

function hintOf(able: { by: string | null; hint?: string }): string | null {
  return able.by === null ? (able.hint ?? null) : null
}
