import type { Overlay } from './overlay.ts'
import { showCommand } from './show-command.tsx'
import { showFoundTools } from './show-found-tools.tsx'
import { showMemories } from './show-memories.tsx'
import { showPage } from './show-page.tsx'
import { showReason } from './show-reason.tsx'
import { showSchedule } from './show-schedule.tsx'
import { showSearch } from './show-search.tsx'
import { showSpawn } from './show-spawn.tsx'

/** By the names of tools. Every other tool is shown as it was called. */
const overlays: Readonly<Record<string, Overlay>> = {
  web_search: { show: showSearch },
  web_fetch: { show: showPage },
  recall_memory: { show: showMemories },
  memory_query: { show: showMemories },
  memory_get: { show: showMemories },
  reason: { show: showReason },
  find_tools: { show: showFoundTools },
  lookup_capability: { show: showFoundTools },
  schedule_message: { show: showSchedule },
  sessions_spawn: { show: showSpawn, opensWhileRunning: true },
  exec: { show: showCommand, opensWhileRunning: true },
}

/** A model may call a tool by any name, such as one that every object has. */
export function overlayOf(name: string): Overlay | undefined {
  return Object.hasOwn(overlays, name) ? overlays[name] : undefined
}
