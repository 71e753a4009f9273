import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { describePage } from './support/describe-page.ts'
import { openPage, signIn } from './support/open-page.ts'

describePage('signing in', () => {
  it('PAGE-1 a link works once, and leaves neither the address nor the history', async () => {
    const { newContext, signInLink, url } = await openPage()
    const link = await signInLink()
    const page = await (await newContext()).newPage()
    await signIn(page, link)
    expect(page.url()).toBe(`${url}/`)
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2)
    const second = await (await newContext()).newPage()
    await second.goto(link)
    await second.getByText('This link was used or has expired.').waitFor()
    expect(await second.getByRole('navigation').count()).toBe(0)
    // A whole link pasted in is as good as one that is opened.
    await second.getByLabel('Or paste the link or code').fill(await signInLink())
    await second.getByRole('button', { name: 'Sign in' }).click()
    await second.getByRole('navigation', { name: 'Familiar' }).waitFor()
  })

  it('PAGE-1 the cookie alone and the key alone are refused', async () => {
    const { page, context, url } = await openPage()
    const key = (await page.evaluate(`localStorage.getItem('familiar.page_key')`)) as string
    const [cookie] = await context.cookies(`${url}/api/v1/who`)
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/api' })
    expect(await page.evaluate('document.cookie')).toBe('')
    const status = async (headers: Record<string, string>) => (await fetch(`${url}/api/v1/who`, { headers })).status
    const cookieHeader = { cookie: `${cookie?.name}=${cookie?.value}` }
    const keyHeader = { authorization: `Page ${key}` }
    expect(await status({ ...cookieHeader, ...keyHeader })).toBe(200)
    expect(await status(cookieHeader)).toBe(401)
    expect(await status(keyHeader)).toBe(401)
    expect(await status({ authorization: `Bearer ${key}` })).toBe(401)
    expect(await status({ ...cookieHeader, authorization: `Page ${'A'.repeat(43)}` })).toBe(401)
  })

  it('PAGE-1 signing out everywhere ends every browser at once', async () => {
    const { page, newContext, signInLink } = await openPage()
    const other = await (await newContext()).newPage()
    await signIn(other, await signInLink())
    const ended = await page.evaluate(`fetch('/api/v1/sign-out', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Page ' + localStorage.getItem('familiar.page_key') },
      body: JSON.stringify({ everywhere: true }),
    }).then((response) => response.json())`)
    expect(ended).toEqual({ ended: 2 })
    for (const tab of [page, other]) {
      await tab.reload()
      await tab.getByRole('button', { name: 'Sign in' }).waitFor()
    }
  })

  it('PAGE-1 a page on another port, which also gets the cookie, can do nothing with it', async () => {
    const { context, url, page } = await openPage()
    const stranger = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<title>stranger</title>')
    })
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve))
    const strange = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    // Not watched: its own address is not the daemon's, and what it tries is refused, loudly.
    const foreign = await (await page.context().browser()?.newContext())?.newPage()
    if (!foreign) throw new Error('there is no browser')
    await foreign.context().addCookies(await context.cookies(`${url}/api/v1/who`))
    await foreign.goto(strange)
    const tries = (path: string, init: object) =>
      foreign.evaluate(
        `fetch('${url}${path}', ${JSON.stringify({ credentials: 'include', ...init })}).then((response) => response.status, () => 'refused')`,
      )
    expect(await tries('/api/v1/who', {})).toBe('refused')
    expect(await tries('/api/v1/messages', { method: 'POST', mode: 'no-cors', body: '{"message":"hi"}' })).toBe(
      'refused',
    )
    expect(await tries('/api/v1/sign-out', { method: 'POST', mode: 'no-cors', body: '{"everywhere":true}' })).toBe(
      'refused',
    )
    const framed = await foreign.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe')
      frame.onload = () => { try { resolve(frame.contentDocument === null ? 'closed' : 'open') } catch { resolve('closed') } }
      frame.src = '${url}/'
      document.body.append(frame)
    })`)
    expect(framed).toBe('closed')
    // Nothing happened: this browser is signed in, and no message was sent.
    await page.reload()
    await page.getByText('No conversations yet').waitFor()
    await foreign.context().close()
    await new Promise((resolve) => stranger.close(resolve))
  })
})
