import type { Capability } from '../capability.ts'

/** Every capability in memory, for each user their own. */
export interface HeldCapabilities {
  find(userId: string, name: string): Capability | undefined
  byId(id: string): Capability | undefined
  /** In order of name. */
  list(userId: string): Capability[]
  all(): Iterable<Capability>
  /** In place of what was held under its id. */
  put(capability: Capability): void
}

export function createHeldCapabilities(): HeldCapabilities {
  const held = new Map<string, Capability>()
  const users = new Map<string, { ids: Map<string, string>; sortedIds: string[] | undefined }>()
  return {
    find(userId, name) {
      const id = users.get(userId)?.ids.get(name)
      return id === undefined ? undefined : held.get(id)
    },
    byId: (id) => held.get(id),
    list(userId) {
      const user = users.get(userId)
      if (!user) return []
      // Names are only ever added, so that the order outlives what a call changes.
      user.sortedIds ??= [...user.ids].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, id]) => id)
      return user.sortedIds.flatMap((id) => held.get(id) ?? [])
    },
    all: () => held.values(),
    put(capability) {
      const { id, userId, name } = capability
      const user = users.get(userId) ?? { ids: new Map(), sortedIds: undefined }
      users.set(userId, user)
      if (user.ids.get(name) !== id) user.sortedIds = undefined
      user.ids.set(name, id)
      held.set(id, capability)
    },
  }
}
