import type { InboundMessage } from '../agent/conversations.ts'
import type { MessageRequest } from '../protocol/api.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { isWorkChannel, type MediaPart } from '../protocol/messages.ts'
import { fromWire } from '../protocol/operation.ts'
import { messageClientContextSchema } from '../protocol/tools.ts'
import { isAutomated } from '../security/approvals.ts'
import { cleanForeignText } from '../tools/documents/foreign-text.ts'
import type { HttpContext, HttpDependencies } from './dependencies.ts'
import { callerOf } from './guards.ts'

const sessionId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Session names are free; only a text with the form of an id is an id. */
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
    ...(request.answers !== undefined && { answers: request.answers }),
    ...clientToolsOf(request),
  }
}

export function clientToolsOf({
  clientTools,
}: Pick<MessageRequest, 'clientTools'>): Pick<InboundMessage, 'clientTools'> {
  if (clientTools.length === 0) return {}
  return { clientTools: clientTools.map((tool) => ({ ...tool, description: cleanForeignText(tool.description) })) }
}

/** A notice comes from a program, unless it comes from the command line. Absent: the label of its source. */
function labelOf(
  { untrusted, source }: MessageRequest,
  { isNotice = false }: { isNotice?: boolean },
): Pick<InboundMessage, 'label'> {
  if (untrusted) return { label: 'untrusted' }
  return isNotice && source !== 'cli' && !isAutomated(source) ? { label: 'internal' } : {}
}

/** Facts about the client go to a store that forgets them, not into the log, which keeps everything. */
async function takeTelemetry(
  { telemetry }: HttpDependencies,
  userId: string,
  { telemetry: told, ...metadata }: MessageRequest['metadata'],
): Promise<MessageRequest['metadata']> {
  const read = telemetry && messageClientContextSchema.safeParse(fromWire(messageClientContextSchema, told))
  if (read?.success) await telemetry?.keep(userId, read.data)
  return metadata
}

/** Clients may not post to internal channels or as an internal source. */
function refuseWork({ channel, source }: Pick<MessageRequest, 'channel' | 'source'>): void {
  const taken = [channel, source].find(isWorkChannel)
  if (taken !== undefined) throw new FamiliarError('bad_request', `"${taken}" is reserved for internal work`)
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
    throw new FamiliarError('conflict', `Session ${session.id} is archived. Send to its name to start a new one`)
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
  attachments: MessageRequest['attachments'],
): Promise<MediaPart[]> {
  const files = attachments.map(({ name, mediaType, data }, index) => {
    const bytes = decodeBase64(data)
    if (!bytes) throw new FamiliarError('bad_request', `attachments.${index}.data: is not base64`)
    return { name, mediaType: mediaType.toLowerCase(), data: bytes }
  })
  const total = files.reduce((sum, file) => sum + file.data.byteLength, 0)
  if (total > settings.maxAttachmentBytes) {
    const limit = settings.maxAttachmentBytes.toLocaleString('en')
    throw new FamiliarError('payload_too_large', `The attachments together are larger than ${limit} bytes`)
  }
  return Promise.all(files.map((file) => media.put(file)))
}

/** Node skips characters that are not base64; then there are fewer bytes than the length implies. */
function decodeBase64(text: string): Uint8Array | undefined {
  const digits = text.replace(/={1,2}$/, '')
  const bytes = Buffer.from(digits, 'base64')
  return bytes.byteLength === Math.floor((digits.length * 3) / 4) ? bytes : undefined
}
