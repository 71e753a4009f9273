import type { MiddlewareHandler } from 'hono'
import { framePageHeaders, framePagePolicy } from '../../../cards/frame-document.ts'
import type { HttpEnv } from '../http-dependencies.ts'
import { createPackedFiles, type PageFiles } from './page-files.ts'

/**
 * What the page may do: its own scripts and styles, its own server, and nothing else. Cards need their one style sheet and styles
 * of elements, which their frames inherit from here.
 */
const policy = Object.entries({
  'default-src': `'none'`,
  'script-src': `'self'`,
  'style-src': `'self'`,
  'connect-src': `'self'`,
  'font-src': `'self'`,
  'media-src': `'self' blob:`,
  'manifest-src': `'self'`,
  'worker-src': `'self'`,
  ...framePagePolicy,
  'img-src': `'self' data: blob:`,
  'form-action': `'none'`,
  'base-uri': `'none'`,
  'frame-ancestors': `'none'`,
  'require-trusted-types-for': `'script'`,
  // For the frames of cards, and made once: a second policy of that name is refused.
  'trusted-types': 'familiar-card familiar-layout',
})
  .map(([name, value]) => `${name} ${value}`)
  .join('; ')

const pageHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self)',
  ...framePageHeaders,
}

/** Whether a path belongs to programs, and never to the page. */
const isProgram = (path: string) => /^\/(?:api|v1|mcp|tools|hooks|secret|healthz|readyz|metrics)(?:\/|$)/.test(path)

/**
 * The page, where it was built. It needs no token: it holds nothing of anybody. Every address that no program answers is a
 * screen of it, so that a reload stays where it was.
 */
export function servePage(files: PageFiles): MiddlewareHandler<HttpEnv> {
  const packed = createPackedFiles(files)
  return async (context, next) => {
    const { method, path } = context.req
    if ((method !== 'GET' && method !== 'HEAD') || isProgram(path)) return next()
    const isAsset = path.startsWith('/assets/')
    const file =
      packed(path) ?? (isAsset || !wantsPage(context.req.header('accept')) ? undefined : packed('/index.html'))
    if (!file) return next()
    const takesGzip = file.gzip !== undefined && /\bgzip\b/.test(context.req.header('accept-encoding') ?? '')
    const body = takesGzip ? file.gzip : file.plain
    return new Response(method === 'HEAD' ? null : new Uint8Array(body ?? []), {
      headers: {
        ...pageHeaders,
        'content-type': file.mediaType,
        // Names of assets hold a hash of their content.
        'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
        vary: 'accept-encoding',
        ...(takesGzip && { 'content-encoding': 'gzip' }),
      },
    })
  }
}

function wantsPage(accept: string | undefined): boolean {
  return accept?.includes('text/html') ?? false
}
