-- A load asks each part for each person. Parts that nothing was merged into for a day become one, whatever their sizes are; by sizes alone ten parts of fifty million people stay for good: docs/performance.md, "Loads among many people".
ALTER TABLE profiles MODIFY SETTING min_age_to_force_merge_seconds = 86400;
