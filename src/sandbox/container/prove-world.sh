echo nonce=$NONCE
printf %s "$NONCE" >&3
while read -r name value rest; do
  case $name in Uid:|CapBnd:|NoNewPrivs:|Seccomp:) echo "${name%:}=$value";; esac
done < /proc/self/status
interfaces=
while read -r name rest; do
  case $name in *:*) interfaces="$interfaces ${name%%:*}";; esac
done < /proc/net/dev
echo "interfaces=${interfaces# }"
while read -r id parent device root point options rest; do
  [ "$point" = / ] && echo "options=$options"
done < /proc/self/mountinfo
(: > /run/familiar-probe) 2>/dev/null && echo run=open || echo run=closed
[ -e "$HIDDEN" ] && echo hidden=there || echo hidden=absent
piece=0123456789abcdef
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do piece=$piece$piece; done
for i in 1 2 3; do printf %s "$piece" || full=full; piece=$piece$piece; done > /tmp/piece 2>/dev/null
echo "scratch=${full-open}"
