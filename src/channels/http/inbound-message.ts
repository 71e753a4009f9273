import type { InboundMessage } from '../../agent/conversations.ts'
import { isAutomated } from '../../policy/own-words.ts'
import type { Attachment, MessageRequest } from '../../protocol/api.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { MediaPart } from '../../protocol/message.ts'
import type { ToolDefinition } from '../../protocol/tool.ts'
import { messageTelemetrySchema } from '../../protocol/trigger-api.ts'
import { isWorkChannel } from '../../sessions/work-channels.ts'
import { cleanForeignText } from '../../tools/builtin/foreign-text.ts'
import { callerOf } from './guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from './http-dependencies.ts'

const sessionId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The names of sessions are free; only what has the form of an id is taken for one. */
export function isSessionId(text: string): boolean {
  return sessionId.test(text)
}

/** A checked request as the conversations take it. Files are stored before the message that names them. */
export async function toInboundMessage(
  dependencies: HttpDependencies,
  context: HttpContext,
  request: MessageRequest,
  options: { immediate: boolean; isNotice?: boolean },
): Promise<InboundMessage> {
  const { userId } = callerOf(context)
  refuseWork(request)
  const key = keyOf(context, request)
  const metadata = await takeTelemetry(dependencies, userId, request.metadata)
  return {
    userId,
    ...(await placeOf(dependencies, userId, request)),
    sender: request.sender ?? userId,
    source: request.source,
    ...(request.tier && { tier: request.tier }),
    text: request.message,
    media: request.attachments.length > 0 ? await storeAttachments(dependencies, request.attachments) : [],
    ...(key !== undefined && { key }),
    immediate: options.immediate,
    metadata,
    ...labelOf(request, options),
    ...clientToolsOf(request),
  }
}

export function clientToolsOf({
  client_tools,
}: Pick<MessageRequest, 'client_tools'>): Pick<InboundMessage, 'clientTools'> {
  return client_tools.length > 0 ? { clientTools: client_tools.map(toDefinition) } : {}
}

function toDefinition({ name, description, input_schema }: MessageRequest['client_tools'][number]): ToolDefinition {
  return { name, description: cleanForeignText(description), inputSchema: input_schema }
}

/** A notice is a program's, unless it comes from the owner's own keyboard. Absent: as its source is. */
function labelOf(
  { untrusted, source }: MessageRequest,
  { isNotice = false }: { isNotice?: boolean },
): Pick<InboundMessage, 'label'> {
  if (untrusted) return { label: 'untrusted' }
  return isNotice && source !== 'cli' && !isAutomated(source) ? { label: 'internal' } : {}
}

/** What the client tells of itself goes where it is forgotten, and not into the log, which forgets nothing. */
async function takeTelemetry(
  { telemetry }: HttpDependencies,
  userId: string,
  { telemetry: told, ...metadata }: MessageRequest['metadata'],
): Promise<MessageRequest['metadata']> {
  const read = telemetry && messageTelemetrySchema.safeParse(told)
  if (read?.success) await telemetry?.keep(userId, read.data)
  return metadata
}

/** Nobody speaks where work is done, nor in its name. */
function refuseWork({ channel, source }: Pick<MessageRequest, 'channel' | 'source'>): void {
  const taken = [channel, source].find(isWorkChannel)
  if (taken !== undefined) throw new FamiliarError('bad_request', `"${taken}" is for work that Familiar does itself`)
}

async function placeOf(
  { conversations }: HttpDependencies,
  userId: string,
  request: MessageRequest,
): Promise<{ channel: string; contact: string }> {
  if (!isSessionId(request.session)) return { channel: request.channel, contact: request.session }
  const session = await conversations.findSession(userId, request.session)
  if (!session) throw new FamiliarError('not_found', `There is no session ${request.session}`)
  if (session.state === 'archived') {
    throw new FamiliarError(
      'conflict',
      `Session ${session.id} is archived; a new one begins with the name of a contact`,
    )
  }
  refuseWork({ channel: session.channel, source: request.source })
  return { channel: session.channel, contact: session.contact }
}

function keyOf(context: HttpContext, request: MessageRequest): string | undefined {
  const header = context.req.header('idempotency-key')
  if (header === undefined) return request.key
  if (!/^[\x20-\x7e]{1,200}$/.test(header)) {
    throw new FamiliarError('bad_request', 'Idempotency-Key: must be 1 to 200 printable characters')
  }
  if (request.key !== undefined && request.key !== header) {
    throw new FamiliarError('bad_request', 'key: differs from the header Idempotency-Key')
  }
  return header
}

async function storeAttachments(
  { media, settings }: HttpDependencies,
  attachments: readonly Attachment[],
): Promise<MediaPart[]> {
  const files = attachments.map(({ name, media_type, data }, index) => {
    const bytes = decodeBase64(data)
    if (!bytes) throw new FamiliarError('bad_request', `attachments.${index}.data: is not base64`)
    return { name, mediaType: media_type.toLowerCase(), data: bytes }
  })
  const total = files.reduce((sum, file) => sum + file.data.byteLength, 0)
  if (total > settings.maxAttachmentBytes) {
    const limit = settings.maxAttachmentBytes.toLocaleString('en')
    throw new FamiliarError('payload_too_large', `The attachments are larger than ${limit} bytes together`)
  }
  return Promise.all(files.map((file) => media.put(file)))
}

/** Node skips what is not base64; then fewer bytes come out than the length promises. */
function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '')
  const bytes = Buffer.from(digits, 'base64')
  return bytes.byteLength === Math.floor((digits.length * 3) / 4) ? bytes : undefined
}
