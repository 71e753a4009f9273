import type { Hono, MiddlewareHandler } from 'hono'
import type { HttpDependencies, HttpEnv } from '../http-dependencies.ts'
import { servePage } from '../page/serve-page.ts'
import type { Route } from '../route.ts'
import type { createBodyLoadGuard } from './body-load-guard.ts'
import { bodySizeGuard } from './body-size-guard.ts'
import { contentTypeGuard } from './content-type-guard.ts'
import type { GuardName } from './guard-names.ts'
import { hostGuard } from './host-guard.ts'
import { linkGuard } from './link-guard.ts'
import { localGuard } from './local-guard.ts'
import { originGuard } from './origin-guard.ts'
import { ownerGuard } from './owner-guard.ts'
import { rateLimitGuard } from './rate-limit-guard.ts'
import { scopeGuard } from './scope-guard.ts'
import { signatureGuard } from './signature-guard.ts'
import { tokenGuard } from './token-guard.ts'

/** What every request passes, also one to a path that does not exist. The order is the order of asking. */
export function addGuards(
  app: Hono<HttpEnv>,
  { settings, limiter, tokens, logger, page }: HttpDependencies,
  { guards, routes }: { guards: ReadonlySet<GuardName>; routes: readonly Route[] },
): void {
  const open = routes.filter((route) => route.auth !== 'token').map((route) => route.path.split('/'))
  const isOpen = (path: string) => open.some((pattern) => fits(pattern, path.split('/')))
  const failures = guards.has('failed_logins') ? limiter : undefined
  if (guards.has('host')) app.use(hostGuard(settings.allowedHosts))
  if (guards.has('origin')) app.use(originGuard(settings.allowedOrigins))
  if (guards.has('rate_limit')) app.use(rateLimitGuard(limiter))
  // The page itself is nobody's; what it asks for is somebody's.
  if (page?.files) app.use(servePage(page.files))
  if (guards.has('token')) app.use(tokenGuard({ tokens, browsers: page?.browsers, failures, logger, isOpen }))
}

/** What a request to one route passes after that, still before any of its handler runs. */
export function routeGuards(
  route: Route,
  { triggers, links, limiter, logger }: HttpDependencies,
  {
    guards,
    maxBodyBytes,
    bodyLoadGuard,
  }: {
    guards: ReadonlySet<GuardName>
    maxBodyBytes: number
    /** One for all routes: they share what it counts. */
    bodyLoadGuard: ReturnType<typeof createBodyLoadGuard>
  },
): MiddlewareHandler<HttpEnv>[] {
  const failures = guards.has('failed_logins') ? limiter : undefined
  return [
    ...(guards.has('scope') ? [scopeGuard(route.scope)] : []),
    ...(guards.has('owner') && route.isOwners ? [ownerGuard()] : []),
    ...(guards.has('local') && route.isLocal ? [localGuard()] : []),
    ...(guards.has('content_type') ? [contentTypeGuard(route.rawBody?.mediaTypes)] : []),
    ...(guards.has('body_size') ? [bodySizeGuard(maxBodyBytes)] : []),
    ...(guards.has('body_load') && !route.rawBody?.isSpooled ? [bodyLoadGuard(maxBodyBytes)] : []),
    ...(guards.has('signature') && route.auth === 'signature' && triggers
      ? [signatureGuard({ webhooks: triggers.webhooks, failures, logger, maxBodyBytes })]
      : []),
    ...(guards.has('link') && route.link && links
      ? [linkGuard({ links: links.store, purpose: route.link, failures, logger })]
      : []),
  ]
}

/** `/hooks/:tool` fits `/hooks/mail`, and nothing shorter or longer. */
function fits(pattern: readonly string[], path: readonly string[]): boolean {
  if (pattern.length !== path.length) return false
  return pattern.every((part, index) => (part.startsWith(':') ? path[index] !== '' : part === path[index]))
}
