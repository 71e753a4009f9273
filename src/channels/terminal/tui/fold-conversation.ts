import { type Change, type Conversation, type Pending, withItems } from './conversation.ts'
import { displayable } from './displayable.ts'
import { foldBuildEvent } from './fold-build-event.ts'
import { foldTurnEvent } from './fold-turn-event.ts'

/** The conversation after something happened. Pure; the one door for whatever is shown, so all of it is made harmless. */
export function foldConversation(conversation: Conversation, change: Change): Conversation {
  if (change.type === 'picture') return withItems(conversation, { kind: 'picture', draw: change.draw })
  return fold(conversation, displayable(change))
}

function fold(conversation: Conversation, change: Exclude<Change, { type: 'picture' }>): Conversation {
  switch (change.type) {
    case 'event':
      return foldTurnEvent(conversation, change.event, change.at)
    case 'build':
      return foldBuildEvent(conversation, change.name, change.event)
    case 'said': {
      const { key, shown } = change
      return { ...conversation, pending: [...conversation.pending, { key, shown, messageId: undefined }] }
    }
    case 'accepted':
      return accept(conversation, change.key, change.messageId)
    case 'refused': {
      const refused = { kind: 'note', tone: 'bad', text: change.reason } as const
      return withItems(
        { ...conversation, pending: conversation.pending.filter(({ key }) => key !== change.key) },
        refused,
      )
    }
    case 'past':
      return withItems(
        conversation,
        change.role === 'user'
          ? { kind: 'user', text: change.text, from: undefined, messageId: undefined }
          : { kind: 'answer', text: change.text, isOpen: false },
      )
    case 'note':
      return withItems(conversation, { kind: 'note', tone: change.tone, text: change.text })
    case 'asked': {
      const isKnown = conversation.asks.some(({ id }) => id === change.ask.id)
      return isKnown ? conversation : { ...conversation, asks: [...conversation.asks, change.ask] }
    }
    case 'settled':
      return { ...conversation, asks: conversation.asks.filter(({ id }) => id !== change.id) }
    case 'cost_known':
      return { ...conversation, costSinceUsd: 0 }
    case 'lost':
      return { ...conversation, isConnected: false }
    case 'back': {
      const items = conversation.items.filter((item) => !('isOpen' in item && item.isOpen))
      return withItems(
        { ...conversation, items, isConnected: true },
        { kind: 'note', tone: 'quiet', text: change.text },
      )
    }
    default:
      change satisfies never
      return conversation
  }
}

/** The receipt may come before the message shows in the stream, or after it. */
function accept(conversation: Conversation, key: string, messageId: string): Conversation {
  const said = conversation.pending.find((pending) => pending.key === key)
  if (!said) return conversation
  const shownAs = new Map(conversation.shownAs).set(messageId, said.shown)
  const place = conversation.items.findIndex((item) => item.kind === 'user' && item.messageId === messageId)
  if (place < 0) {
    const pending = conversation.pending.map((one): Pending => (one === said ? { ...one, messageId } : one))
    return { ...conversation, shownAs, pending }
  }
  const pending = conversation.pending.filter((one) => one !== said)
  const items = conversation.items.with(place, { kind: 'user', text: said.shown, from: undefined, messageId })
  return { ...conversation, shownAs, pending, items }
}
