import type { Component } from '@earendil-works/pi-tui'
import type { Conversation, Item } from './conversation.ts'
import { drawItem, gapBetween } from './draw-item.ts'
import type { View } from './drawing.ts'
import { safeComponent } from './safe-component.ts'
import type { Theme } from './theme.ts'

/** All that was said and done, oldest first. What no longer changes is drawn once for each width. */
export function createTranscript(options: {
  theme: Theme
  conversation: () => Conversation
  view: () => View
  now: () => number
}): Component {
  const { theme, conversation, view, now } = options
  const drawn = new WeakMap<Item, { component: Component; look: string }>()

  function componentOf(item: Item, isExpanded: boolean): Component {
    const { showsThinking } = view()
    const look = `${showsThinking && item.kind === 'thinking'} ${isExpanded}`
    const known = drawn.get(item)
    if (known?.look === look) {
      if (isMoving(item)) known.component.invalidate()
      return known.component
    }
    const component = safeComponent((width) => drawItem(item, { width, theme, showsThinking, isExpanded, now: now() }))
    drawn.set(item, { component, look })
    return component
  }

  return {
    render(width) {
      const { items } = conversation()
      const { openCalls } = view()
      const newest = items.findLastIndex(isWork)
      const lines: string[] = []
      for (const [place, item] of items.entries()) {
        const isExpanded = openCalls === 'all' || (openCalls === 'newest' && place === newest)
        lines.push(...Array<string>(gapBetween(items[place - 1], item)).fill(''))
        for (const line of componentOf(item, isExpanded).render(width)) lines.push(line)
      }
      return lines
    },
    invalidate() {
      for (const item of conversation().items) drawn.get(item)?.component.invalidate()
    },
  }
}

function isWork(item: Item): boolean {
  return item.kind === 'call' || item.kind === 'build'
}

/** Its time is shown, and passes. */
function isMoving(item: Item): boolean {
  return (item.kind === 'call' && !item.outcome) || (item.kind === 'thinking' && item.tookMs === undefined)
}
