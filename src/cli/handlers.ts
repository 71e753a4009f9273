import type { CommandHandler } from './command.ts'

/** Loaded when its command is chosen: `familiar send` must not wait for what `familiar doctor` needs. */
export type LoadHandler = () => Promise<CommandHandler<never>>

export const handlers = {
  backup: async () => (await import('./backup-command.ts')).backup,
  chat: async () => (await import('./chat-command.ts')).chat,
  context: async () => (await import('./context-command.ts')).context,
  cost: async () => (await import('./cost-command.ts')).cost,
  doctor: async () => (await import('./doctor-command.ts')).doctor,
  export: async () => (await import('./export-command.ts')).exportSessions,
  history: async () => (await import('./history-command.ts')).history,
  log: async () => (await import('./log-command.ts')).log,
  monitor: async () => (await import('./monitor-command.ts')).monitor,
  reset: async () => (await import('./reset-command.ts')).reset,
  restore: async () => (await import('./restore-command.ts')).restore,
  rotateToken: async () => (await import('./token-command.ts')).rotateToken,
  send: async () => (await import('./send-command.ts')).send,
  serve: async () => (await import('./serve-command.ts')).serve,
  sessions: async () => (await import('./sessions-command.ts')).sessions,
  setup: async () => (await import('./run-setup.ts')).setup,
  start: async () => (await import('./start-command.ts')).start,
  status: async () => (await import('./status-command.ts')).status,
  stop: async () => (await import('./stop-command.ts')).stop,
} satisfies Record<string, LoadHandler>
