import type { HttpContext } from './http-dependencies.ts'

export function wantsEvents(context: HttpContext): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false
}
