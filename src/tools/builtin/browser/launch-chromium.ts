import type { BrowserContext } from 'playwright-core'
import type { LoopbackProxy } from '../../../egress/loopback-proxy.ts'

/**
 * What closes every way out but the proxy. The proxy decides by the address that a name leads to (SEC-8); a browser that
 * looked names up, spoke UDP or went to loopback by itself would go past it.
 */
const closedWays = [
  '--proxy-bypass-list=<-loopback>',
  // The name of a STUN server is looked up past the proxy: a name can carry anything out. The next but one stops it too.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // The name that it had before.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  // Without a window Chromium refuses them by itself, as far as could be seen; with this it is said.
  '--deny-permission-prompts',
  '--no-pings',
  // At its start Chromium asks its makers who is signed in, at this address. Here nobody is: it is refused.
  '--gaia-url=https://0.0.0.0',
]

export interface LaunchOptions {
  executable: string
  /** Its own: cookies of the user's browser are not in it. */
  profileDirectory: string
  proxy: LoopbackProxy
  /** As root Chromium does not start with its sandbox. */
  isRoot: boolean
  searchPath: string
}

/** Starts the browser without a window, with a profile, an environment and a process group of its own. */
export async function launchChromium(options: LaunchOptions): Promise<BrowserContext> {
  const { executable, profileDirectory, proxy, isRoot, searchPath } = options
  const { chromium } = await import('playwright-core')
  return await chromium.launchPersistentContext(profileDirectory, {
    executablePath: executable,
    headless: true,
    chromiumSandbox: !isRoot,
    proxy: { server: proxy.server, username: proxy.username, password: proxy.password },
    args: closedWays,
    // Not ours, which holds keys.
    env: { PATH: searchPath, HOME: profileDirectory, LANG: 'C.UTF-8' },
    acceptDownloads: false,
    serviceWorkers: 'block',
    viewport: { width: 1280, height: 800 },
    // Whoever stops this program closes the browser; signals are not for a library to answer.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  })
}
