-- The sink inserts once in three seconds and partition. With the server's own base it merged the whole month with every five inserts, as long as that was small: docs/performance.md, "Messages".
ALTER TABLE messages MODIFY SETTING merge_selector_base = 10;
