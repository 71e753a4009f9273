import { createHash } from 'node:crypto'
import { toDisplayText } from '../../../base/text.ts'
import { escapeHtml } from '../../../cards/write-fragment.ts'
import { commonHeaders } from '../json-reply.ts'
import type { AskedSecret } from './secret-links.ts'
import { secretPageStyle } from './secret-page-style.ts'

const styleHash = createHash('sha256').update(secretPageStyle).digest('base64')

/**
 * The token of a link stands in the address, so the address goes nowhere: nothing is loaded, and a referrer is the origin
 * at most. Not `no-referrer`: with that, browsers send the form with the Origin `null`, which is rightly refused.
 */
const pageHeaders = {
  ...commonHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    `default-src 'none'`,
    `style-src 'sha256-${styleHash}'`,
    `form-action 'self'`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'strict-origin',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
}

/** The form. It has no address of its own: it is sent to the one that it stands at. */
export function secretForm(asked: AskedSecret, problem?: string): Response {
  const secret = words(asked.secret)
  const body = `
<h1>A secret for “${words(asked.capability)}”</h1>
<p>This capability needs <strong>${secret}</strong> from you:</p>
<p class="what" id="what">${words(asked.question)}</p>
${asked.isUntrusted ? `<p class="note">Text from others was in sight when this was asked. Give it only if you expect to.</p>` : ''}
<form method="post" autocomplete="off">
<label for="value">${secret}</label>
${problem === undefined ? '' : `<p class="alert" id="problem" role="alert">${words(problem)}</p>`}
<input type="password" id="value" name="value" required autofocus autocomplete="off" autocapitalize="off" spellcheck="false"
  aria-describedby="what${problem === undefined ? '' : ' problem'}"${problem === undefined ? '' : ' aria-invalid="true"'}>
<button type="submit">Keep it</button>
</form>
<p class="muted">It goes into the vault on your own machine. No model and no chat ever sees it. This page works once.</p>`
  return page({ title: 'A secret for Familiar', body, status: problem === undefined ? 200 : 400 })
}

export function secretKept(): Response {
  const body = `
<h1>Kept</h1>
<p role="status">It is in the vault, for this capability alone. You can close this page.</p>
<p class="muted">This link is used up.</p>`
  return page({ title: 'Kept', body, status: 200 })
}

/** The same for a link that never was, was used or has expired: nobody learns which. */
export function noSuchLink(): Response {
  const body = `
<h1>This link does not work</h1>
<p>Links like this one work once and for a few minutes. If Familiar still needs something from you, ask it for a new one
where you talk to it.</p>`
  return page({ title: 'This link does not work', body, status: 404 })
}

function page({ title, body, status }: { title: string; body: string; status: number }): Response {
  const document = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${secretPageStyle}</style>
</head>
<body>
<main>${body}
</main>
</body>
</html>
`
  return new Response(document, { status, headers: pageHeaders })
}

function words(text: string): string {
  return escapeHtml(toDisplayText(text))
}
