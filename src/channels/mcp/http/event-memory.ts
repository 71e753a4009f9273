import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server'

const mostEvents = 256
const mostCharacters = 4_000_000

interface KeptEvent {
  id: string
  streamId: string
  message: JSONRPCMessage
  characters: number
}

/**
 * The newest events of one MCP session, so that a client that lost the line reads on from `Last-Event-ID`. Of what is no
 * longer kept the client is refused, and begins a new stream.
 */
export function createEventMemory(): EventStore {
  const events: KeptEvent[] = []
  let characters = 0
  let count = 0
  return {
    async storeEvent(streamId, message) {
      count += 1
      const event = { id: String(count), streamId, message, characters: JSON.stringify(message).length }
      events.push(event)
      characters += event.characters
      while (events.length > mostEvents || (characters > mostCharacters && events.length > 1)) {
        characters -= events.shift()?.characters ?? 0
      }
      return event.id
    },
    async getStreamIdForEventId(eventId) {
      return events.find(({ id }) => id === eventId)?.streamId
    },
    async replayEventsAfter(lastEventId, { send }) {
      const last = events.find(({ id }) => id === lastEventId)
      if (!last) throw new Error('This event is no longer kept')
      const missed = events.slice(events.indexOf(last) + 1).filter(({ streamId }) => streamId === last.streamId)
      // An event that only opened its stream says nothing.
      for (const { id, message } of missed) if ('jsonrpc' in message) await send(id, message)
      return last.streamId
    },
  }
}
