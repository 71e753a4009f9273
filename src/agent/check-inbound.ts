import { toStorableText } from '../base/text.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { InboundMessage } from './conversations.ts'

const maxContactLength = 200

/** What may come in: storable text of a bearable size, and names that can be keys. */
export function checkInbound(
  inbound: InboundMessage,
  { maxMessageCharacters }: { maxMessageCharacters: number },
): InboundMessage {
  const text = toStorableText(inbound.text)
  if (text.trim() === '' && inbound.media.length === 0) throw new FamiliarError('bad_request', 'The message is empty')
  if (text.length > maxMessageCharacters) {
    const limit = maxMessageCharacters.toLocaleString('en')
    throw new FamiliarError(
      'payload_too_large',
      `The message has ${text.length.toLocaleString('en')} characters; at most ${limit} are taken. Attach it as a file instead.`,
    )
  }
  const contact = toStorableText(inbound.contact).trim()
  if (contact === '' || contact.length > maxContactLength) {
    throw new FamiliarError('bad_request', `A session's name has 1 to ${maxContactLength} characters`)
  }
  return { ...inbound, text, contact, sender: toStorableText(inbound.sender) }
}
